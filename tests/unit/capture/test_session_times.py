"""A trace that does not say when its session ran says it afterwards, and nothing else of it changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.captures import committed
from tfprof_widgets.capture import note_session_times
from tfprof_widgets.read import parse_space, read_xspace

START_NS, STOP_NS = 1_700_000_000_000_000_000, 1_700_000_001_500_000_000


def test_a_trace_without_the_times_of_its_session_gets_them(tmp_path: Path) -> None:
    space = parse_space(committed.content("keras_fit"))
    named = [plane for plane in space.planes if plane.name != b"Task Environment"]
    assert len(named) < len(space.planes)
    del space.planes[:]
    space.planes.extend(named)
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(space.SerializeToString())
    before = read_xspace(path.read_bytes())
    assert before.origin_ns == 0
    note_session_times(path, start_ns=START_NS, stop_ns=STOP_NS)
    after = read_xspace(path.read_bytes())
    assert after.origin_ns == START_NS
    assert [session.stop_ps for session in after.sessions] == [(STOP_NS - START_NS) * 1000]
    assert np.array_equal(after.start_ps, before.start_ps)
    written = path.read_bytes()
    note_session_times(path, start_ns=1, stop_ns=2)
    assert path.read_bytes() == written


def test_a_trace_that_has_them_stays_as_it_is(tmp_path: Path, capture_of: Callable[[str], Path]) -> None:
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(capture_of("keras_fit").read_bytes())
    note_session_times(path, start_ns=START_NS, stop_ns=STOP_NS)
    assert path.read_bytes() == capture_of("keras_fit").read_bytes()
