"""One program run again and again, as a cell is -> `diff` names no change beyond noise, but for one pair of runs in 20."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.nightly.trainings.same_program import N_STEPS
from tfprof_widgets.analysis import UNCHANGED

ROOT = Path(__file__).parents[3]
N_TRIES = 40
MOST_FLAGGED = N_TRIES // 20


def run_again_and_again(directory: Path) -> list[tfprof.Profile]:
    environment = os.environ | {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "tests.nightly.trainings.same_program", str(directory), str(N_TRIES + 1)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [tfprof.load(directory / str(number)) for number in range(N_TRIES + 1)]


def told(found: tfprof.ProfileDiff) -> str:
    """What was named, to read when there was too much of it."""
    tables = (
        found.categories,
        found.layers,
        found.ops,
        found.kernels,
        found.source_lines,
        found.iterators,
        found.memory,
    )
    rows = [one[~one["state"].isin(UNCHANGED)].to_string() for one in tables if not one["state"].isin(UNCHANGED).all()]
    return "\n".join([found.verdict, *rows])


@pytest.mark.tensorflow
@pytest.mark.timeout(3600)
def test_two_runs_of_one_program_differ_within_noise_in_19_of_20_tries(tmp_path: Path) -> None:
    runs = run_again_and_again(tmp_path)
    assert [len(run.steps) for run in runs] == [N_STEPS] * len(runs)
    pairs = [tfprof.diff(a, b) for a, b in itertools.pairwise(runs)]
    flagged = [told(found) for found in pairs if not found.is_within_noise]
    print(f"{len(flagged)} of {N_TRIES} tries name a change beyond noise")
    assert [found.verdict for found in pairs if not found.verdict.startswith("No change beyond noise: ")] == []
    assert len(flagged) <= MOST_FLAGGED, "\n\n".join([f"{len(flagged)} of {N_TRIES} tries name a change", *flagged])
