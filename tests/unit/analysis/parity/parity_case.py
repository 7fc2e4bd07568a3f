"""One real trace read twice: by XProf and by us -> what the parity tests compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.captures import committed
from tests.unit.analysis.xprof_oracle import OpTotals, host_ops, rows, xprof_units
from tests.unit.formats.full_protobuf import space_class
from tfprof_widgets.analysis import Analysis, Occurrences, aggregate_ops, dense_codes, op_occurrences
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace

MARKED_KINDS = (
    "keras_fit",
    "keras_first_step",
    "function_loop_marked",
    "eager_loop_marked",
    "tfrecord_fit",
    "bfloat16_fit",
    "float16_fit",
    "xla_fit",
)
"""Captures whose steps XProf sees: a convolutional net, loops by hand, record files, mixed precision, XLA."""
LOOPING_KIND = "lstm_fit"
"""A marked capture in which XProf sees no step, because a loop of TensorFlow runs inside."""
CPU_KINDS = (*MARKED_KINDS, LOOPING_KIND)
H100_KINDS = (
    *("h100_eager", "h100_lstm", "h100_cnn_input", "h100_resnet_mixed", "h100_resnet_xla", "h100_transformer_xla"),
    *("h100_transformer_loop", "h100_oom"),
)
"""Captures by this package: ops run one by one, a recurrent net, a net that waits for one sequential `map`, a ResNet with and
without XLA, a transformer with and without, and one that ran out of memory before its first step."""
GPU_KINDS = ("v100", *H100_KINDS)
KINDS = (*CPU_KINDS, *GPU_KINDS)
UNMARKED_KINDS = ("keras_bare", "function_loop", "eager_loop")
WITHOUT_ITERATIONS = f"{LOOPING_KIND}_without_iterations"
"""What the answers of XProf about `without_iterations` of that capture are called."""
COMPILES, HIDDEN = b"Compiling IR", b"Compilinh IR"
HostOps = tuple[dict[str, OpTotals], int]
TOOLS = (
    "overview_page",
    "framework_op_stats",
    "input_pipeline_analyzer",
    "memory_profile",
    "kernel_stats",
    "pod_viewer",
)


@dataclass(frozen=True)
class Case:
    """A capture with both readings: ours, and XProf's as `tests/data` keeps it."""

    kind: str
    path: Path

    @cached_property
    def trace(self) -> Trace:
        """Its events."""
        return read_xspace(self.path.read_bytes())

    @cached_property
    def results(self) -> Analysis:
        """Our reading."""
        return Analysis(self.trace)

    @cached_property
    def as_xprof_counts(self) -> Trace:
        """The trace as if no event said which op of an XLA program it runs, nor which eager op it calls, nor that it compiles.

        XProf counts neither of the first two on the host, and takes the third for an op (D15).
        """
        content = self.path.read_bytes()
        hidden = {b"EagerLocalExecute": b"EagerLocalExecutf", COMPILES: HIDDEN}
        for told, other in (hidden if self.is_gpu else hidden | {b"hlo_op": b"hlo_oq"}).items():
            content = content.replace(told, other)
        return read_xspace(content)

    @cached_property
    def counted(self) -> Occurrences:
        """The ops of that, with as many executions as XProf counts: those of the most frequent kernel of each (D15)."""
        trace = self.as_xprof_counts
        found = op_occurrences(trace, units=xprof_units(trace))
        has_kernels = found.is_device[found.op] & (found.op < found.n_ops)
        kernel, _ = dense_codes(found.op, np.where(has_kernels, trace.name_id[found.event], 0))
        order = np.argsort(kernel, kind="stable")
        number = np.empty(len(found), np.int64)
        number[order] = np.arange(len(found)) - np.searchsorted(kernel[order], kernel[order])
        execution = dense_codes(found.op, number)[0].astype(np.int32)
        hidden, name = HIDDEN.decode(), COMPILES.decode()
        return replace(found, execution=execution, name=tuple(one.replace(hidden, name) for one in found.name))

    @cached_property
    def as_xprof(self) -> Analysis:
        """Our reading with these."""
        results = Analysis(self.as_xprof_counts)
        results.__dict__["occurrences"] = self.counted
        return results

    def our_ops(self, *, side: str, idle: bool = True) -> pd.DataFrame:
        """The `ops` table of one side, counted like that."""
        ops = aggregate_ops(self.counted, idle=idle)
        return ops[ops["device"] == side]

    @cached_property
    def theirs(self) -> Mapping[str, Any]:
        """XProf's reading, by tool."""
        found: Mapping[str, Any] = committed.answers(self.kind)["tools"]
        return found

    @cached_property
    def theirs_without_iterations(self) -> Mapping[str, Any]:
        """What XProf says of the same file after `without_iterations`."""
        found: Mapping[str, Any] = committed.answers(WITHOUT_ITERATIONS)["tools"]
        return found

    @property
    def is_gpu(self) -> bool:
        """Whether it has devices."""
        return any(plane.is_device for plane in self.trace.planes)

    @cached_property
    def quirky_ops(self) -> HostOps:
        """Host ops and idle time by XProf's own stack."""
        return host_ops(self.trace, has_quirks=True)

    @cached_property
    def plain_ops(self) -> HostOps:
        """Host ops and idle time, event by event, without the quirks of that stack (D4, D5)."""
        return host_ops(self.trace, has_quirks=False)

    def their_ops(self, *, side: str, idle: bool = True) -> list[dict[str, Any]]:
        """Rows of framework_op_stats of the host or the device."""
        table = self.theirs["framework_op_stats"][0 if idle else 1]
        return [row for row in rows(table) if row["host_or_device"] == side]

    @property
    def their_steps(self) -> list[dict[str, Any]]:
        """XProf's steps. It prints ms of whole picoseconds, so nothing is lost."""
        return rows(self.theirs["overview_page"][1])


def without_iterations(content: bytes) -> bytes:
    """The same file, in which no executor says that it runs an iteration of a loop after the first."""
    found = space_class().FromString(content)
    for plane in found.planes:
        names = {key: metadata.name for key, metadata in plane.event_metadata.items()}
        stats = {key: metadata.name for key, metadata in plane.stat_metadata.items()}
        for event in (event for line in plane.lines for event in line.events):
            if names[event.metadata_id] == b"ExecutorState::Process":
                kept = [s for s in event.stats if stats[s.metadata_id] != b"iter_num" or not s.int64_value]
                del event.stats[:]
                event.stats.extend(kept)
    return bytes(found.SerializeToString())
