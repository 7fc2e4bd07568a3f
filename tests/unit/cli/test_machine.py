"""`doctor`: the same checks as in a notebook, and a status by which a script can tell."""

from __future__ import annotations

import pytest

from tests.unit.cli.shell import Shell
from tfprof_widgets.capture import Check


@pytest.mark.parametrize(("status", "expected"), [("ok", 0), ("unknown", 0), ("warning", 1)])
def test_doctor(tfprof: Shell, monkeypatch: pytest.MonkeyPatch, status: str, expected: int) -> None:
    checks = (Check("python", "ok", "3.12"), Check("gpu\x1b[2J", status, "none", "buy one"))  # type: ignore[arg-type]
    monkeypatch.setattr("tfprof_widgets.capture.checks.all_checks.run_all_checks", lambda: checks)
    told = tfprof("doctor")
    assert (told.status, told.err) == (expected, "")
    assert told.out.splitlines()[0].split() == ["ok", "python", "3.12"]
    assert told.out.endswith(r"gpu\x1b[2J  none -> buy one" + "\n")
    found = tfprof("doctor", "--json")
    assert found.status == expected
    assert found.value["is_ok"] is (expected == 0)
    assert found.value["checks"][1] == {"check": "gpu\x1b[2J", "status": status, "value": "none", "remedy": "buy one"}


def test_doctor_of_this_machine(tfprof: Shell) -> None:
    told = tfprof("doctor", "--json")
    assert told.status in (0, 1)
    assert told.value["checks"][0]["check"] == "python"
