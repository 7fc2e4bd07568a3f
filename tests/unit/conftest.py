"""Files that TensorFlow's first profiler really wrote, made once a session in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def first_profiler(shared_directory: Path) -> Path:
    """The directory that `tests.unit.formats.first_profiler` filled."""
    whole = shared_directory / "first_profiler_files"
    with FileLock(shared_directory / "first_profiler_files.lock"):
        if not whole.is_dir():
            part = shared_directory / "first_profiler_files.part"
            command = [sys.executable, "-m", "tests.unit.formats.first_profiler", str(part)]
            environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
            )
            assert done.returncode == 0, done.stderr[-3000:]
            part.rename(whole)
    return whole
