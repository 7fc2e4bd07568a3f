"""What a capture notes of the machine it ran on."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tfprof_widgets.capture import CapturedProgram, machine_facts
from tfprof_widgets.read import read_source_map


def test_versions_are_of_modules_that_the_program_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("keras")
    module.__version__ = "9.9"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keras", module)
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    facts = machine_facts()
    assert facts["keras"] == "9.9"
    assert "tensorflow" not in facts
    assert facts["python"] == platform.python_version()
    assert int(facts["memory_bytes"]) > 0


def test_a_version_that_is_no_text_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keras", ModuleType("keras"))
    assert "keras" not in machine_facts()


def test_threads_are_told_where_the_program_set_them(monkeypatch: pytest.MonkeyPatch) -> None:
    threading = SimpleNamespace(get_intra_op_parallelism_threads=lambda: 1, get_inter_op_parallelism_threads=lambda: 0)
    module = ModuleType("tensorflow")
    module.config = SimpleNamespace(threading=threading)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    facts = machine_facts()
    assert facts["intra_op_threads"] == "1"
    assert "inter_op_threads" not in facts


def test_the_facts_are_kept_beside_the_trace(tmp_path: Path) -> None:
    program = CapturedProgram()
    program.end([tmp_path], writes=False)
    program.write()
    facts = read_source_map(tmp_path).facts
    assert dict(zip(facts["name"], facts["value"], strict=True))["python"] == platform.python_version()
