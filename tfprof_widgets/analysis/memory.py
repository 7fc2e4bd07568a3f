"""Trace -> `MemoryProfile`: per allocator the summary, the timeline, and what is live at the peak or at any time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..store.trace import Trace
from .grouping import Grouping, group_events
from .memory_live import dtype_names, find_peak, live_table, peak_table, texts
from .memory_snapshots import Snapshots, read_snapshots
from .units import PS_PER_MS
from .wording import plural

_CPU_REMEDY = (
    "{cause} TensorFlow records CPU tensor memory only when TF_CPU_ALLOCATOR_USE_BFC is set before its first op. "
    "Restart the kernel, run the line below first (or `%load_ext tfprof_widgets`, which does it), and capture again.\n"
    'import os; os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"'
)
_IDLE_REMEDY = (
    "Nothing of TensorFlow ran while this capture was on, so no memory was allocated. Put the code that trains inside it:\n"
    "with tfprof.profile() as prof: model.fit(...)"
)
_DEVICE_REMEDY = (
    "No memory was allocated or given back while this capture ran, so there is nothing to show. "
    "Capture more steps, the first one included:\n"
    "with tfprof.profile(steps=range(0, 10)) as prof: ..."
)


@dataclass(frozen=True, eq=False, repr=False)
class MemoryProfile:
    """What TensorFlow's allocators did during the capture.

    Source: semantics section 7. Times are ms after the trace origin.
    Differs from XProf: its times are offsets within the event's line.
    """

    allocators: tuple[str, ...]
    """Names, sorted; prefixed with the host ("host: name") where more than one host recorded memory."""
    summary: pd.DataFrame
    """One row per allocator: `allocator, n_allocations, n_deallocations, capacity_bytes, peak_heap_bytes, peak_bytes,
    peak_at_ms, stack_bytes, heap_bytes, free_bytes, fragmentation_ratio`. `peak_heap_bytes` is the highest mark since
    the process began, `peak_bytes` the most in use (stack and heap) during the capture, and the columns after it are
    the state at that moment; `fragmentation_ratio` is in [0, 1].

    Differs from XProf: `peak_heap_bytes` is the largest reported mark, not the one on the last event in line order.
    """
    snapshots: Snapshots
    """The memory events as columns, for views."""
    strings: tuple[str, ...]
    """What the string ids of `snapshots` point into."""
    event_step: npt.NDArray[np.int32] | None
    """For each event of the trace its row in the `steps` table, where steps were computed."""
    remedy: str | None
    """Where nothing useful was recorded: why, what to do, and on the last line the code to paste; else None."""

    def __repr__(self) -> str:
        n = len(self.snapshots.event)
        return f"MemoryProfile({plural(n, 'memory event')} of {plural(len(self.allocators), 'allocator')})"

    @property
    def is_empty(self) -> bool:
        """Whether the capture holds no memory event."""
        return not self.allocators

    def timeline(self, allocator: str) -> pd.DataFrame:
        """Every memory event of one allocator, in time order; nothing is sampled away.

        Returns:
            `time_ms, event` ("allocation" or "deallocation"), `requested_bytes, allocation_bytes, op, step, region,
            dtype, shape`, the state after the event `in_use_bytes` (stack and heap), `stack_bytes, heap_bytes,
            free_bytes, fragmentation_ratio` in [0, 1], `address`, and `freed_at`: for an allocation the row in which
            its address is given back, else -1. `step` is the row of the `steps` table (-1 between steps), or XProf's
            step id where no steps were given.

        Raises:
            KeyError: no such allocator.
        """
        table, rows = self.snapshots, self.snapshots.rows_of(allocator)
        freed_at = table.freed_at[rows]
        step = table.group_step if self.event_step is None else self.event_step[table.event]
        return pd.DataFrame(
            {
                "time_ms": table.time_ps[rows] / PS_PER_MS,
                "event": np.where(table.is_free[rows], "deallocation", "allocation").astype(np.object_),
                "requested_bytes": table.requested_bytes[rows],
                "allocation_bytes": table.allocation_bytes[rows],
                "op": texts(table.op[rows], self.strings),
                "step": step[rows],
                "region": texts(table.region[rows], self.strings),
                "dtype": dtype_names(table.dtype[rows]),
                "shape": texts(table.shape[rows], self.strings),
                "in_use_bytes": table.in_use_bytes[rows],
                "stack_bytes": table.stack_bytes[rows],
                "heap_bytes": table.heap_bytes[rows],
                "free_bytes": table.free_bytes[rows],
                "fragmentation_ratio": table.fragmentation_ratio[rows],
                "address": table.address[rows],
                "freed_at": np.where(freed_at >= 0, freed_at - rows.start, -1),
            }
        )

    def peak(self, allocator: str) -> pd.DataFrame:
        """Who holds the memory at the peak, as XProf tells it: the allocations of the peak's step, the rest as one row.

        Returns:
            `op, allocation_bytes, requested_bytes, occurrences, region, dtype, shape, total_bytes`, largest first; byte
            counts are of one allocation, `total_bytes` is `allocation_bytes` times `occurrences`.

        Raises:
            KeyError: no such allocator.

        Differs from XProf: no row is hidden for being small.
        """
        return peak_table(self.snapshots, self.snapshots.rows_of(allocator), self.strings)

    def live(self, allocator: str, at_ms: float) -> pd.DataFrame:
        """Who holds the memory at a time (ms after the trace origin): the true live set, columns as in `peak`.

        The row "allocated before the capture" is what is in use and was not seen being allocated.

        Raises:
            KeyError: no such allocator.
        """
        rows = self.snapshots.rows_of(allocator)
        return live_table(self.snapshots, rows, self.strings, at_ps=round(at_ms * PS_PER_MS))


def compute_memory(
    trace: Trace,
    *,
    event_step: npt.NDArray[np.int32] | None = None,
    grouping: Grouping | None = None,
) -> MemoryProfile:
    """Read the memory events of a trace.

    Args:
        trace: the trace.
        event_step: for each event its row in the `steps` table, for the `step` column of the timeline.
        grouping: the groups of the events, when the caller has them already.
    """
    snapshots = read_snapshots(trace, _group_numbers(grouping or group_events(trace)))
    return MemoryProfile(
        allocators=snapshots.allocators,
        summary=_summary(snapshots),
        snapshots=snapshots,
        strings=trace.strings,
        event_step=event_step,
        remedy=_remedy(trace, snapshots),
    )


def _group_numbers(grouping: Grouping) -> npt.NDArray[np.int64]:
    """XProf's group id of each event, -1 for none."""
    number = np.append(grouping.groups["number"].to_numpy(np.int64), -1)
    return number[grouping.group_id]


def _summary(table: Snapshots) -> pd.DataFrame:
    rows = []
    for name in table.allocators:  # one turn per allocator
        at = table.rows_of(name)
        peak = find_peak(table, at)
        stack, heap, free = (
            int(column[peak.row]) for column in (table.stack_bytes, table.heap_bytes, table.free_bytes)
        )
        n_deallocations = int(table.is_free[at].sum())
        rows.append(
            {
                "allocator": name,
                "n_allocations": at.stop - at.start - n_deallocations,
                "n_deallocations": n_deallocations,
                "capacity_bytes": stack + heap + free,
                "peak_heap_bytes": int(table.lifetime_peak_bytes[at].max()),
                "peak_bytes": peak.in_use_bytes,
                "peak_at_ms": float(table.time_ps[peak.row] / PS_PER_MS),
                "stack_bytes": stack,
                "heap_bytes": heap,
                "free_bytes": free,
                "fragmentation_ratio": float(table.fragmentation_ratio[peak.row]),
            }
        )
    return pd.DataFrame(rows, columns=SUMMARY_COLUMNS)


SUMMARY_COLUMNS = [
    "allocator",
    "n_allocations",
    "n_deallocations",
    "capacity_bytes",
    "peak_heap_bytes",
    "peak_bytes",
    "peak_at_ms",
    "stack_bytes",
    "heap_bytes",
    "free_bytes",
    "fragmentation_ratio",
]


def _remedy(trace: Trace, snapshots: Snapshots) -> str | None:
    if not trace.n_events:
        return _IDLE_REMEDY
    has_device = any(plane.is_device for plane in trace.planes)
    if has_device:
        return None if snapshots.allocators else _DEVICE_REMEDY
    if not snapshots.allocators:
        return _CPU_REMEDY.format(cause="This capture holds no memory events.")
    if set(snapshots.allocators) == {"mklcpu"}:
        # Without the BFC allocator oneDNN's scratch allocator still reports, which is a small part of the memory.
        return _CPU_REMEDY.format(cause="This capture holds only oneDNN's scratch memory (`mklcpu`), not the tensors.")
    return None
