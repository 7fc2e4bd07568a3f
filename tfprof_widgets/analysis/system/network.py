"""Bytes received and sent -> a choppy or full network in, and transfers out that grow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...trace.trace import Float64
from ..base.wording import number, percent, plural, size
from .finding import Finding
from .samples import Samples, runs

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
"""A rate within this and 1 of a usual link speed is told with that speed: headers take some percent."""
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
