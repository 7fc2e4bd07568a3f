"""Captures where TensorFlow takes oneDNN's ops and allocator, as it does by default on CPUs with AVX-512 VNNI and the like."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.warm_process import ROOT

pytestmark = [pytest.mark.tensorflow, pytest.mark.nightly]

SMALLEST_TOLD = 256 * 2**10
"""What oneDNN's allocator passes on to the one that reports, `kSmallAllocationsThreshold` of mkl_cpu_allocator.h."""
TRAININGS = """
import json, os, sys
import keras
import numpy as np
import tensorflow
import tfprof_widgets as tfprof
from tests.warm_process import fork_alone

for records_all in ("false", "true", None):
    if (child := fork_alone()) == 0:
        if records_all is None:
            os.environ.pop("TF_CPU_ALLOCATOR_USE_BFC", None)
        else:
            os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = records_all
        break
    if os.waitpid(child, 0)[1]:
        sys.exit(1)
else:
    sys.exit()

if records_all is None:
    tensorflow.constant([1.0] * 1000) + 1
    from IPython.core.interactiveshell import InteractiveShell
    InteractiveShell.instance().run_line_magic("load_ext", "tfprof_widgets")
    (found,) = (check for check in tfprof.doctor().checks if check.name == "cpu_memory")
    print(json.dumps({"doctor": [found.status, found.value, found.remedy]}), flush=True)
    os._exit(0)
x, y = np.zeros((2048, 64), "f4"), np.zeros((2048, 1), "f4")
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(512, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
with tfprof.profile() as profile:
    model.fit(x, y, batch_size=512, verbose=0)
memory = profile.memory
lived = [memory.lifetimes(name).query("op != ''") for name in memory.allocators]
print(json.dumps({
    "records_all": records_all == "true",
    "allocators": list(memory.allocators), "remedy": memory.remedy, "n_steps": len(profile.steps),
    "tensors": [int(size) for one in lived for size in one["allocation_bytes"]], "types": sorted(set(profile.ops["type"])),
}), flush=True)
os._exit(0)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two trainings and a `doctor()` tell, forked from one process: TensorFlow asks for oneDNN when it is imported."""
    variables = {
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", TRAININGS],
        cwd=tmp_path_factory.mktemp("onednn"),
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.fixture(params=[False, True], ids=["some", "all"])
def run(request: pytest.FixtureRequest, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The one in which the allocator records that much."""
    (found,) = (run for run in runs if run.get("records_all") is request.param)
    return found


def test_ops_of_onednn_are_told_and_steps_found(run: dict[str, Any]) -> None:
    assert any(name.startswith("_Mkl") for name in run["types"])
    assert run["n_steps"] == 4


def test_the_memory_view_says_what_is_lacking(run: dict[str, Any]) -> None:
    if run["records_all"]:
        assert run["allocators"] == ["bfc_cpu_allocator_for_gpu"]
        assert run["remedy"] is None
        assert min(run["tensors"]) < SMALLEST_TOLD
    else:
        assert run["allocators"] == ["mklcpu"]
        assert "256 KiB" in run["remedy"]
        assert min(run["tensors"]) >= SMALLEST_TOLD


def test_doctor_tells_what_is_recorded_when_the_extension_comes_after_the_first_op(runs: list[dict[str, Any]]) -> None:
    (told,) = (run["doctor"] for run in runs if "doctor" in run)
    status, value, remedy = told
    assert status == "warning"
    assert value.startswith("recorded in part: ")
    assert "set too late" in value
    assert "%load_ext tfprof_widgets" in remedy
