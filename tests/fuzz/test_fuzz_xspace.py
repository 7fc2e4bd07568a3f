"""Mutated and truncated traces give a Trace or a TraceError, in bounded time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")

ROOT = Path(__file__).parents[2]
N_MUTANTS = 20_000
N_IN_EVERY_RUN = 100
_CHUNK = 2_000


def read_mutants(first: int, last: int) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.read_mutants", str(first), str(last)],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, f"the reader died on mutants {first} to {last}:\n{done.stderr[-2000:]}"
    result: dict[str, object] = json.loads(done.stdout)
    return result


def test_a_slice_of_the_mutants_gives_a_trace_or_a_trace_error() -> None:
    result = read_mutants(0, N_IN_EVERY_RUN)
    assert result["failures"] == []
    assert 0.05 * N_IN_EVERY_RUN < result["n_traces"] < 0.95 * N_IN_EVERY_RUN  # both outcomes are reached


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", list(range(0, N_MUTANTS, _CHUNK)))
def test_all_mutants_give_a_trace_or_a_trace_error(first: int) -> None:
    assert read_mutants(first, first + _CHUNK)["failures"] == []
