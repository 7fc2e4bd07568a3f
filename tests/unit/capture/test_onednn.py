"""Captures where TensorFlow takes oneDNN's ops and allocator, as it does by default on CPUs with AVX-512 VNNI and the like."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow

SMALLEST_TOLD = 256 * 2**10
"""What oneDNN's allocator passes on to the one that reports, `kSmallAllocationsThreshold` of mkl_cpu_allocator.h."""
TRAINING = """
import json, sys
import keras
import numpy as np
import tfprof_widgets as tfprof

x, y = np.zeros((2048, 64), "f4"), np.zeros((2048, 1), "f4")
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(512, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
with tfprof.profile() as profile:
    model.fit(x, y, batch_size=512, verbose=0)
memory = profile.memory
lived = [memory.lifetimes(name).query("op != ''") for name in memory.allocators]
json.dump({
    "allocators": list(memory.allocators), "remedy": memory.remedy, "n_steps": len(profile.steps),
    "tensors": [int(size) for one in lived for size in one["allocation_bytes"]], "types": sorted(set(profile.ops["type"])),
}, sys.stdout)
"""


@pytest.fixture(scope="module", params=["false", "true"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a training in a process of its own tells: TensorFlow asks for its variables when it is imported."""
    variables = {"TF_ENABLE_ONEDNN_OPTS": "1", "TF_CPU_ALLOCATOR_USE_BFC": request.param, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-c", TRAINING],
        cwd=tmp_path_factory.mktemp("onednn"),
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1]) | {"records_all": request.param == "true"}


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
