"""What needs TensorFlow, each in a process of its own; `tests/conftest.py` marks who takes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock

from tests.unit.capture.scenario import Scenario, run_scenario
from tests.warm_process import run_file


@pytest.fixture(scope="session")
def scenario() -> Scenario:
    """Runs a piece of a program after the prelude and returns its `out`."""
    return run_scenario


@pytest.fixture(scope="session")
def first_profiler(shared_directory: Path) -> Path:
    """The directory that `tests.unit.formats.first_profiler` filled."""
    whole = shared_directory / "first_profiler_files"
    with FileLock(shared_directory / "first_profiler_files.lock"):
        if not whole.is_dir():
            part = shared_directory / "first_profiler_files.part"
            done = run_file(
                Path(__file__).parent / "formats" / "first_profiler.py", str(part), CUDA_VISIBLE_DEVICES="-1"
            )
            assert done.returncode == 0, done.stderr[-3000:]
            part.rename(whole)
    return whole
