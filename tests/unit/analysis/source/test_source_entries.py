"""How often the rules are asked that charge ops to lines and buckets."""

from __future__ import annotations

import pytest

from tests.builders import event, line, plane, trace
from tfprof_widgets.analysis import Analysis, source


def test_ops_of_which_the_same_is_known_are_charged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"net/step_{i}/mul:Mul" for i in range(50)] + ["adam/update_1/x:ResourceApplyAdam", "net/y:AddV2"]
    results = Analysis(trace(plane("/host:CPU", line("main", *(event(one, i, 1) for i, one in enumerate(names))))))
    asked: list[int] = []
    charge = source._Charging._charge
    monkeypatch.setattr(source._Charging, "_charge", lambda self, i: asked.append(i) or charge(self, i))
    entries = results.source_lines.entries
    assert len(results.source_lines.op_entry) == len(names)
    assert set(entries["bucket"]) == {source.NOT_TRACED, "Keras optimizer"}
    assert len(asked) == 3
