"""The shared link refuses what no view could follow."""

from __future__ import annotations

from pathlib import Path

import pytest
import traitlets

import tfprof_widgets as tfprof
from tests.builders import event, line, plane, space
from tfprof_widgets.show import LinkModel


def test_a_time_range_is_two_whole_nanoseconds_or_nothing() -> None:
    link = LinkModel()
    link.time_range = (1.2, 9.8)
    assert link.time_range == (1, 10)
    link.time_range = ()
    assert link.time_range == ()


@pytest.mark.parametrize("value", [(5, 1), (1,), (1, 2, 3)])
def test_a_time_range_that_is_none_is_refused(value: tuple[int, ...]) -> None:
    with pytest.raises(traitlets.TraitError, match="t0_ns <= t1_ns"):
        LinkModel().time_range = value


def test_a_name_that_the_browser_has_cut_selects_the_op_of_the_whole_name(tmp_path: Path) -> None:
    long = [f"{'scope/' * 200}{end}:MatMul" for end in ("a", "b")]
    events = [event(name, 10 * i, 5) for i, name in enumerate(long)]
    (tmp_path / "h.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *events))))
    prof = tfprof.load(tmp_path)
    ops = sorted(set(prof.ops["name"]))
    assert len(ops) == 2
    assert min(map(len, ops)) > 1000
    payload = prof.timeline().data.payload
    cut = [
        name for name in payload.contents.names.texts(0, 100) if name.endswith("characters)") and "MatMul" not in name
    ]
    for name in ops:
        prof.select(ops=(name,))
        (sent,) = prof.link.get_state("selection")["selection"]
        assert sent in cut
        prof.select(ops=())
        prof.link.set_state({"selection": [sent]})
        assert prof.link.selection == (name,)
