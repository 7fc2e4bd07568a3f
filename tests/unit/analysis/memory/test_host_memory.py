"""What an allocator of a host may use: no more than its machine has, whatever address space it claims."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import Event, event, line, plane, session, trace
from tests.unit.analysis.failure.failure_drawings import failure
from tests.unit.analysis.memory.test_memory import take
from tfprof_widgets.analysis import Analysis, is_of_host
from tfprof_widgets.trace import Failure, empty_source_map

GIB = 2**30
CLAIMED, MACHINE = 64 * GIB, 24 * GIB
LEAK = "What is free, 23.9 GiB, lasts about 2,448 steps more."


def leaking(name: str, *, claimed: int = CLAIMED) -> list[Event]:
    """Ten steps, each of which leaves 10 MiB behind."""
    size = 10 * 2**20
    steps: list[Event] = []
    for i in range(10):
        stats: dict[str, Any] = {
            "allocator_name": name,
            "bytes_available": claimed - (i + 1) * size,
            "fragmentation": 0.5,
        }
        steps += (
            event("train", 100 * i, 90, _r=1, step_num=i),
            take(100 * i + 10, i + 1, size, (i + 1) * size, tf_op="model/kept:MatMul", **stats),
        )
    return steps


def results_of(name: str, machine: int, *, claimed: int = CLAIMED, failure: Failure | None = None) -> Analysis:
    """Of a capture on a machine of so many bytes, 0 for not known."""
    facts = pd.DataFrame({"name": ["memory_bytes"], "value": [str(machine)]})
    drawn = trace(session(), plane("/host:CPU", line("main", *leaking(name, claimed=claimed))))
    return Analysis(drawn, replace(empty_source_map(), facts=facts), failure=failure)


@pytest.mark.parametrize("name", ["cpu", "mklcpu", "gpu_host_bfc", "GPU_0_host: cpu"])
def test_a_host_has_no_more_than_its_machine(name: str) -> None:
    row = results_of(name, MACHINE).memory.summary.iloc[0]
    assert row["capacity_bytes"] == MACHINE
    assert row["free_bytes"] == MACHINE - row["peak_bytes"]
    largest = row["free_bytes"] * (1 - row["fragmentation_ratio"])
    assert largest == pytest.approx(min(CLAIMED / 2, MACHINE), rel=0.01)


def test_a_leak_lasts_as_long_as_the_memory_of_the_machine() -> None:
    assert results_of("cpu", MACHINE).memory.growth("cpu").sentence.endswith(LEAK)
    assert "What is free" not in results_of("cpu", 0).memory.growth("cpu").sentence
    assert "What is free, 63.9 GiB" in results_of("GPU_0_bfc", MACHINE).memory.growth("GPU_0_bfc").sentence


def test_what_a_host_may_use_is_not_said_where_its_machine_is_not_known() -> None:
    row = results_of("cpu", 0).memory.summary.iloc[0]
    assert (row["capacity_bytes"], row["free_bytes"]) == (0, 0)
    assert np.isnan(row["fragmentation_ratio"])
    assert row["peak_bytes"] > 0


@pytest.mark.parametrize(
    ("name", "claimed"), [("GPU_0_bfc", CLAIMED), ("worker-cpu1: GPU_0_bfc", CLAIMED), ("cpu", GIB)]
)
def test_a_limit_below_that_and_the_memory_of_a_device_stay(name: str, claimed: int) -> None:
    row = results_of(name, MACHINE, claimed=claimed).memory.summary.iloc[0]
    assert row["capacity_bytes"] == claimed
    assert row["fragmentation_ratio"] == 0.5


def test_the_names_of_hosts_tell_nothing_of_their_allocators() -> None:
    assert [is_of_host(name) for name in ("cpu-7: GPU_0_bfc", "GPU_0_bfc", "a: gpu_host_bfc")] == [False, False, True]


def failed_on_cpu(machine: int) -> str:
    text = (
        "OOM when allocating tensor with shape[100000,100000] and type float on "
        "/job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu"
    )
    told = results_of("cpu", machine, failure=failure(text, at_us=960)).memory_failure
    assert told is not None
    return told.sentence


def test_a_failed_allocation_tells_what_the_machine_has() -> None:
    assert "100 MiB of 24.0 GiB were in use" in failed_on_cpu(MACHINE)
    unknown = failed_on_cpu(0)
    assert "TensorFlow's tensors held 100 MiB." in unknown
    assert "GiB were" not in unknown
