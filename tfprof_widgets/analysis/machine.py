"""Samples of the machine -> its load and network, and what was odd: the `system` and `system_findings` tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..trace.arrays import Bool, Float64, Int64
from .common import PS_PER_MS, number, percent, plural, size, typed_table
from .table import table

SYSTEM = table(
    """
    system: a sample of the machine
        time_ms                 float   after the trace origin, negative before the first window of the profiler
        cpu_pct                 float   load of all cores that this process may run on
        process_cpu_pct         float   load by this process, 100 for one core
        rss_bytes               number  resident memory of this process
        disk_read_bytes         number  read from all disks since the machine started
        disk_write_bytes        number  written to all disks since then
        net_recv_bytes          number  received over the network since then
        net_sent_bytes          number  sent over the network since then
        memory_available_bytes  number  memory of the machine that is left
        n_threads               number  threads of this process
        children_cpu_pct        float   load by the processes that this one started, 100 for one core

    Loads of CPU, memory, disk, network and GPUs, ten times a second unless the capture was asked for another rate.

    Beside the columns below there is one for each core (`cpu0_pct`, ...) and several for each GPU (`gpu0_pct`,
    ...). They begin before the first window of the profiler, so the first times are negative, and go on to the end
    of the capture. Empty where none were taken, as with `system=False` or of a trace that was loaded without them.
    """,
    file="system",
    read=lambda results: pd.DataFrame() if results.system is None else results.system,
)

SYSTEM_FINDINGS = table("""
    system_findings: something odd in the samples, by kind and start
        kind      text   such as `utilisation_dip`
        metric    text   the column of the samples that shows it
        start_ms  float  after the trace origin
        end_ms    float  after the trace origin
        value     float  how much
        unit      text   of the value
        text      text   the finding in a sentence

    What is odd in `system`: dips of the load, a choppy or full network, uploads that grow, a late start.

    The kinds are `utilisation_dip`, `choppy_network_in`, `saturated_network_in`, `growing_network_out` and
    `late_start`. Empty where nothing is odd, and with too few samples to tell: less than 2 s, or fewer than 20.
""")


@dataclass(frozen=True)
class Samples:
    """Samples in time order, no two at one time."""

    frame: pd.DataFrame
    seconds: Float64
    """After the trace origin."""

    @classmethod
    def of(cls, system: pd.DataFrame | None, pauses_ms: Sequence[tuple[float, float]] = ()) -> Samples | None:
        """The samples of a table, without those of the given times; None where there is none."""
        if system is None or system.empty or "time_ms" not in system:
            return None
        ordered = system.sort_values("time_ms", kind="stable").drop_duplicates("time_ms")
        time_ms = ordered["time_ms"].to_numpy(np.float64)
        # A load is the mean since the sample before, so the first one behind a pause is about it too.
        since_ms = np.append(time_ms[:1], time_ms[:-1])
        is_used = np.ones(len(time_ms), np.bool_)
        for begin_ms, end_ms in pauses_ms:  # bounded by the windows of the capture
            is_used &= (time_ms < begin_ms) | (since_ms >= end_ms)
        return cls(ordered[is_used], time_ms[is_used] / 1e3)

    def known(self, column: str) -> tuple[Float64, Float64]:
        """Seconds and values of a column where it has one; empty where there is no such column."""
        if column not in self.frame:
            return np.empty(0), np.empty(0)
        values = self.frame[column].to_numpy(np.float64)
        is_known = np.isfinite(values)
        return self.seconds[is_known], values[is_known]

    def rates(self, column: str) -> tuple[Float64, Float64]:
        """Edges and rates a second of a column that only grows: rate `k` is that between edges `k` and `k + 1`."""
        seconds, totals = self.known(column)
        if len(seconds) < 2:
            return np.empty(0), np.empty(0)
        return seconds, np.maximum(np.diff(totals), 0) / np.diff(seconds)


def runs(flags: Bool) -> list[tuple[int, int]]:
    """Begin and end (behind it) of each run of true values."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True))


@dataclass(frozen=True)
class Finding:
    """A row of `Profile.system_findings`."""

    kind: str
    metric: str
    start_ms: float
    end_ms: float
    """After the trace origin, as the samples' `time_ms`."""
    value: float
    unit: str
    text: str


MIN_LEVEL_PCT = 20.0
"""A load whose usual level is below this has nowhere to dip to."""
DIP_RATIO = 0.5
"""A dip lies below this share of the usual level, the median."""
MIN_DIP_S = 0.4
MIN_DIP_SAMPLES = 3
"""Shorter ones are what a scheduler does."""
MOST_DIPS = 5
"""Of one metric; the longest. The text of each says of how many."""
LATE_RATIO = 0.5
"""A processor has begun once its load reaches this share of its usual level afterwards, and stays there for a moment."""
MIN_LATE_S = 1.0
MIN_LATE_RATIO = 0.1
"""Of the capture: a second in ten minutes delays nobody."""

_ONE_GPU = re.compile(r"gpu\d+_pct")


def dips(samples: Samples) -> Iterator[Finding]:
    """Where the load of all cores, of this process or of a GPU fell below half of its median, and rose again."""
    # All cores, this process, and each GPU; their mean where there is only one or they are not separate
    gpus = [column for column in samples.frame.columns if _ONE_GPU.fullmatch(str(column))]
    for metric in ["cpu_pct", "process_cpu_pct", *(gpus if len(gpus) > 1 else ["gpu_pct"])]:
        seconds, load = samples.known(metric)
        level = float(np.median(load)) if len(load) else 0.0
        if level < MIN_LEVEL_PCT:
            continue
        found = [
            (begin, end)
            for begin, end in runs(load < DIP_RATIO * level)
            # Before the first and after the last there is no program to be slow: a capture begins and ends.
            if begin > 0 and end < len(load)
            if end - begin >= MIN_DIP_SAMPLES and seconds[end - 1] - seconds[begin - 1] >= MIN_DIP_S
        ]
        longest = sorted(found, key=lambda run: seconds[run[0] - 1] - seconds[run[1] - 1])[:MOST_DIPS]
        several = f" One of {plural(len(found), 'dip')}" if len(found) > 1 else ""
        capped = f"; the longest {MOST_DIPS} are listed" if len(found) > MOST_DIPS else ""
        for begin, end in longest:
            # A load is the mean since the sample before.
            start_s, end_s, low = seconds[begin - 1], seconds[end - 1], float(load[begin:end].mean())
            yield Finding(
                *("utilisation_dip", metric, start_s * 1e3, end_s * 1e3, low, "%"),
                f"{_named(metric)} fell to {number(low)} % for {number(end_s - start_s)} s; usual are {number(level)} %. "
                f"Look at what else ran then: input, a callback, a save.{several}{capped}{'.' if several else ''}",
            )


def late_start(samples: Samples) -> Iterator[Finding]:
    """How long the GPU, or without one this process, took until it worked as it did later."""
    metric = "gpu_pct" if samples.known("gpu_pct")[0].size else "process_cpu_pct"
    seconds, load = samples.known(metric)
    if len(load) < 2:
        return
    later = float(np.median(load[len(load) // 2 :]))
    busy = runs(load >= LATE_RATIO * later)
    begun = next((begin for begin, end in busy if end - begin >= MIN_DIP_SAMPLES), 0)
    delay_s = float(seconds[max(begun - 1, 0)] - seconds[0])
    if later < MIN_LEVEL_PCT or delay_s < max(MIN_LATE_S, MIN_LATE_RATIO * float(np.ptp(seconds))):
        return
    yield Finding(
        *("late_start", metric, seconds[0] * 1e3, seconds[begun - 1] * 1e3, delay_s, "s"),
        f"{_named(metric)} stayed low for the first {number(delay_s)} s; {number(later)} % are usual later. That is a model "
        "that is traced and compiled, or a first batch that takes long: capture later steps to see the others.",
    )


def _named(metric: str) -> str:
    words = {
        "cpu_pct": "The load of all cores",
        "process_cpu_pct": "The CPU load of this process",
        "gpu_pct": "The load of the GPU",
    }
    return words.get(metric) or f"The load of GPU {metric[3:-4]}"


MIN_RATE = 1e6
"""A network that brings less than this a second, on average, feeds no training."""
IDLE_RATIO = 0.1
"""Below this share of the rate while it flows (its 90th percentile) nothing comes in, to speak of."""
CHOPPY_RATIO = (0.2, 0.8)
"""Share of the time without data, in which a network in is choppy; with more of it, it was used once."""
MIN_PAUSES = 4
"""A choppy network stops at least so often."""
FULL_RATIO = 0.85
"""A full link: the 10th percentile of its rate over the 90th is at least this, and"""
MIN_FULL_RATE = 50e6
"""the rate at least this: 400 Mbit/s. A slow and steady stream is a program that needs no more."""
LINK_BITS = tuple(giga * 1e9 for giga in (1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400))
LINK_RATIO = 0.85
"""A rate within this and 1 of a usual link speed is named with that speed: headers take some percent."""
GROWING_RATIO = 1.05
"""Each transfer out is larger than the one before by at least this, and"""
MIN_TOTAL_GROWTH = 1.5
"""the last larger than the first by this,"""
MIN_TRANSFER_BYTES = 1e6
"""and worth a look."""
MIN_TRANSFERS = 3
GAP_S = 0.3
"""Transfers are apart when so long nothing was sent, to speak of."""


def choppy_network_in(samples: Samples) -> Iterator[Finding]:
    """Data that comes in bursts: the input waits in between."""
    edges, rate = samples.rates("net_recv_bytes")
    if not len(rate) or rate.mean() < MIN_RATE:
        return
    flow = float(np.percentile(rate, 90))
    idle = rate < IDLE_RATIO * flow
    seconds = np.diff(edges)
    share = float(seconds[idle].sum() / seconds.sum())
    pauses = [run for run in runs(idle) if run[0] > 0 and run[1] < len(rate)]
    if not CHOPPY_RATIO[0] <= share <= CHOPPY_RATIO[1] or len(pauses) < MIN_PAUSES:
        return
    yield Finding(
        *("choppy_network_in", "net_recv_bytes", edges[0] * 1e3, edges[-1] * 1e3, 100 * share, "%"),
        f"Data came in by bursts of some {size(flow)} a second with {plural(len(pauses), 'pause')}, {percent(share)} of the "
        "time. Read more files at once (`interleave` with `num_parallel_calls`), or prefetch more.",
    )


def saturated_network_in(samples: Samples) -> Iterator[Finding]:
    """Data that comes in at one high rate all the time: the link or the storage behind it gives no more."""
    edges, rate = samples.rates("net_recv_bytes")
    if not len(rate):
        return
    # The capture begins before the program and ends after it: what lies between the first data and the last counts.
    flowing = np.flatnonzero(rate >= IDLE_RATIO * max(float(np.percentile(rate, 90)), 1.0))
    if len(flowing) < len(rate) / 2:
        return
    begin, end = int(flowing[0]), int(flowing[-1]) + 1
    low, typical, high = np.percentile(rate[begin:end], [10, 50, 90]).tolist()
    if typical < MIN_FULL_RATE or low < FULL_RATIO * high:
        return
    speed = next((bits for bits in LINK_BITS if LINK_RATIO <= typical * 8 / bits <= 1), None)
    link = f", {percent(typical * 8 / speed)} of a link of {speed / 1e9:g} Gbit/s" if speed else ""
    yield Finding(
        *("saturated_network_in", "net_recv_bytes", edges[begin] * 1e3, edges[end] * 1e3, typical, "bytes/s"),
        f"Data came in at {size(typical)} a second all the time and never faster{link}: the network may be full. Compare "
        "with what this machine has; keep the data nearer, or smaller (compressed, fewer bits).",
    )


def growing_network_out(samples: Samples) -> Iterator[Finding]:
    """Transfers out of which each is larger than the one before: a file that grows and is sent whole each time."""
    edges, rate = samples.rates("net_sent_bytes")
    if not len(rate):
        return
    seconds = np.diff(edges)
    spans = _transfers(edges, rate)
    sizes = np.array([float((rate * seconds)[begin:end].sum()) for begin, end in spans])
    if len(sizes) < MIN_TRANSFERS or sizes[-1] < MIN_TRANSFER_BYTES:
        return
    growth = float(sizes[-1] / max(sizes[0], 1.0))
    if growth < MIN_TOTAL_GROWTH or (sizes[1:] < GROWING_RATIO * sizes[:-1]).any():
        return
    start_ms, end_ms = edges[spans[0][0]] * 1e3, edges[spans[-1][1]] * 1e3
    yield Finding(
        *("growing_network_out", "net_sent_bytes", start_ms, end_ms, growth, "ratio"),
        f"Each of {plural(len(sizes), 'transfer')} out was larger than the one before, from {size(sizes[0])} to "
        f"{size(sizes[-1])} ({number(growth)} times): a file that grows is sent whole each time. Send parts: a new file for "
        "each checkpoint or log.",
    )


def _transfers(edges: Float64, rate: Float64) -> list[tuple[int, int]]:
    """Spans of samples in which much was sent; those with a short pause between them are one."""
    joined: list[tuple[int, int]] = []
    for begin, end in runs(rate >= max(IDLE_RATIO * float(rate.max()) / 4, 1e5)):  # bounded by the samples
        if joined and edges[begin] - edges[joined[-1][1]] < GAP_S:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((begin, end))
    return joined


MIN_SECONDS = 2.0
MIN_SAMPLES = 20
"""In less than this a pause of the garbage collector looks like a dip: nothing is said."""


def find_anomalies(system: pd.DataFrame | None, *, pauses_ms: Sequence[tuple[float, float]] = ()) -> pd.DataFrame:
    """Look for what a person would stop at in plots of the samples, but for memory: the profiler's is in the process's."""
    samples = Samples.of(system, pauses_ms)
    if samples is None or len(samples.seconds) < MIN_SAMPLES or np.ptp(samples.seconds) < MIN_SECONDS:
        return _frame([])
    parts: tuple[Callable[[Samples], Iterator[Finding]], ...]
    parts = (dips, late_start, choppy_network_in, saturated_network_in, growing_network_out)
    return _frame([finding for part in parts for finding in part(samples)])


def _frame(found: list[Finding]) -> pd.DataFrame:
    rows = sorted(map(vars, found), key=lambda row: (row["kind"], row["start_ms"], row["metric"]))
    return typed_table(rows, SYSTEM_FINDINGS.types)


FREE = 1.0
"""Cores, below which whatever else computes takes them from the model."""
_LEAST_CORES, _LEAST_PART = 0.25, 1 / 8
"""Other programs that take less, in cores and as a part of all cores, slow nobody down by much."""
_FEWEST_SAMPLES = 3
_CORE = re.compile(r"cpu\d+_pct")


@dataclass(frozen=True)
class MachineLoad:
    """Means over the samples from the first step to the last, in cores."""

    n_cores: int
    own: float
    """Of the process that was profiled."""
    others: float
    """Of all programs but that one and the processes that it started."""
    children: float = 0.0
    """Of the processes that it started, such as workers that read data."""
    quota: float = 0.0
    """How many cores the program may use at most where it is limited, as in a container; 0 where it is not."""

    @property
    def free(self) -> float:
        """Cores that nobody used."""
        return max(self.n_cores - self.own - self.children - self.others, 0.0)

    @property
    def notable(self) -> float:
        """How many cores more or fewer make a difference."""
        return max(_LEAST_CORES, _LEAST_PART * self.n_cores)

    @property
    def is_busy(self) -> bool:
        """Whether other programs took cores that the program could have used: the one answer to that question."""
        most = min(self.quota or self.n_cores, self.n_cores)
        missing = most - self.own - self.children
        return self.others >= self.notable and self._is_full and missing >= max(_LEAST_CORES, _LEAST_PART * most)

    @property
    def _is_full(self) -> bool:
        return self.free < max(FREE, _LEAST_PART * self.n_cores)

    @property
    def sentence(self) -> str:
        """Who took the cores from the process that was profiled; "" where nobody did."""
        got = f"of {self.n_cores} cores meanwhile; this one got {number(self.own)}"
        if self.is_busy:
            return f"Other programs used {number(self.others)} {got}: times may be longer than on a free machine."
        if self._is_full and self.children >= self.notable and self.children > self.own:
            return f"Processes that this one started used {number(self.children)} {got}."
        return ""


def machine_load(
    system: pd.DataFrame | None, start_ps: Int64, end_ps: Int64, *, quota: float = 0.0
) -> MachineLoad | None:
    columns = ("cpu_pct", "process_cpu_pct", "children_cpu_pct")
    whole, own, children = (_mean_during(system, start_ps, end_ps, name) for name in columns)
    n_cores = 0 if system is None else sum(bool(_CORE.fullmatch(str(name))) for name in system.columns)
    if whole is None or own is None or not n_cores:
        return None
    started = children or 0.0
    return MachineLoad(n_cores, own / 100, max(whole * n_cores - own - started, 0.0) / 100, started / 100, quota)


def _mean_during(system: pd.DataFrame | None, start_ps: Int64, end_ps: Int64, column: str) -> float | None:
    """The mean of a column of the samples from the first step to the last; None where nobody sampled it."""
    samples = Samples.of(system)
    if samples is None or not len(start_ps):
        return None
    seconds, values = samples.known(column)
    ps = seconds * 1e3 * PS_PER_MS
    inside = (ps >= np.min(start_ps)) & (ps <= np.max(end_ps))
    return float(values[inside].mean()) if inside.sum() >= _FEWEST_SAMPLES else None
