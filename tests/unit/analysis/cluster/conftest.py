"""Runs of several hosts, each read whole and reduced, once a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.browser.full_run import PLAIN, write_run
from tests.cluster import Cluster
from tests.unit.analysis.cluster.comparison import Both, copies
from tests.unit.analysis.hosts.drawn_hosts import STEP_US, chief, data_ahead, served_worker, server
from tfprof_widgets.read import open_traces, read_xspace
from tfprof_widgets.trace import SourceMap, Trace

CAPTURES = ("keras_fit", "xla_fit")
RUNS = ("stragglers", "devices", "servers", *CAPTURES)
LATER_NS = 1_500_123
"""By how much one host starts after another."""


@pytest.fixture(scope="session")
def both_of(tmp_path_factory: pytest.TempPathFactory, capture_of: Callable[[str], Path]) -> Callable[[str], Both]:
    """`both_of(run)`: a run of `RUNS`, read both ways."""
    made: dict[str, Both] = {}

    def both(run: str) -> Both:
        if run not in made:
            if run == "stragglers":
                drawn = Cluster(8, slow_compute={3: 1.3}, slow_input={6: 2.0})
                made[run] = Both.of_run(drawn.draw(tmp_path_factory.mktemp("reduced_stragglers")))
            elif run == "devices":
                made[run] = Both.of_traces(*device_hosts(tmp_path_factory.mktemp("reduced_devices")))
            elif run == "servers":
                files = chief(), server(), served_worker(0, beside=data_ahead(4 * STEP_US)), served_worker(1)
                made[run] = Both.of_traces([read_xspace(content) for content in files])
            else:
                first, second = copies(open_traces(capture_of(run)).trace, ["worker-b", "worker-a"])
                made[run] = Both.of_traces([first, replace(second, origin_ns=second.origin_ns + LATER_NS)])
        return made[run]

    return both


def device_hosts(directory: Path) -> tuple[list[Trace], SourceMap]:
    """Hosts with kernels, a compiled program, allocators and pipelines: the second has another kernel and starts later, the
    third another allocator, layer and program; and what the capture noted of the first one's program."""
    words = [
        PLAIN,
        replace(PLAIN, host="worker-1", kernel="ampere_sgemm_64x64"),
        replace(
            PLAIN,
            host="a-worker",
            allocator="GPU_1_bfc",
            layer="wide",
            program="jit_other",
            hlo="dot.2",
            iterator="Iterator::Root::Batch",
        ),
    ]
    opened = [open_traces(write_run(directory / str(i), one)) for i, one in enumerate(words)]
    traces = [replace(one.trace, origin_ns=one.trace.origin_ns + i * LATER_NS) for i, one in enumerate(opened)]
    notes = opened[0].source_map
    assert notes is not None
    weight = {
        "name": "kernel",
        "shape": "3x3",
        "dtype": "float32",
        "trainable": True,
        "layer": "net/conv",
        "device": "",
    }
    return traces, replace(notes, variables=pd.DataFrame([weight]))
