"""Samples of the machine -> a table of what is odd in them: dips, growth, choppy or full networks, a late start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from ..base.table_types import typed_table
from ..base.wording import size
from ..columns.registry import TABLES
from .dips import dips, late_start
from .finding import Finding
from .network import choppy_network_in, growing_network_out, saturated_network_in
from .samples import Samples

MIN_SECONDS = 2.0
MIN_SAMPLES = 20
"""In less than this a pause of the garbage collector looks like a dip, and two batches like a trend: nothing is said."""

MIN_GROWTH_BYTES = 32 * 2**20
"""Memory that grew by less is no leak that a capture could show: allocators keep as much for later."""
MIN_GROWTH_RATIO = 0.02
WARM_UP_RATIO = 0.2
"""The first fifth of a capture traces, compiles and fills buffers: what it allocates stays, and is no leak."""
MIN_LATE_GROWTH_RATIO = 0.25
"""Of the growth at least so much falls into the second half: what levels off is a buffer that filled."""
BYTES_PER_EVENT = 1_150
"""Memory of this process that TensorFlow's profiler holds an event in until it stops (measured: 10.7 GB for 10 million)."""


def find_anomalies(
    system: pd.DataFrame | None, *, n_events: int = 0, pauses_ms: Sequence[tuple[float, float]] = ()
) -> pd.DataFrame:
    """Look for what a person would stop at in plots of the samples.

    Args:
        system: samples with `time_ms`, the columns of `Profile.system`, in time order; columns that are not there are not
            looked at.
        n_events: how many events the profiler recorded meanwhile, in memory of the same process.
        pauses_ms: begin and end of times that the program spent waiting for the profiler: they are not looked at.

    Returns:
        One row per finding, `kind, metric, start_ms, end_ms, value, unit, text`; by kind, then start. `metric` is a column of
        the samples. The value of a kind, and its unit:

        - `utilisation_dip`: mean load in the dip (%). Where the dip is, the processor waited: for input, a callback, a save.
        - `rising_memory`: growth (bytes/s) of the resident memory beyond what the profiler itself holds.
        - `choppy_network_in`: share of the time in which next to nothing came in (%), while much came in otherwise.
        - `saturated_network_in`: rate (bytes/s) that never goes higher, as of a link that is full.
        - `growing_network_out`: last transfer over the first (ratio), as of a file that grows and is sent whole each time.
        - `late_start`: seconds until the GPU (without one: this process) got to work.

        Empty when nothing is odd, and for samples of less than 2 s or fewer than 20.
    """
    samples = Samples.of(system, pauses_ms)
    if samples is None or len(samples.seconds) < MIN_SAMPLES or np.ptp(samples.seconds) < MIN_SECONDS:
        return _frame([])
    parts: tuple[Callable[[Samples], Iterator[Finding]], ...] = (
        dips,
        late_start,
        lambda given: rising_memory(given, own_bytes=n_events * BYTES_PER_EVENT),
        choppy_network_in,
        saturated_network_in,
        growing_network_out,
    )
    return _frame([finding for part in parts for finding in part(samples)])


def rising_memory(samples: Samples, *, own_bytes: int) -> Iterator[Finding]:
    """Resident memory that grows from quarter to quarter of the capture, its warm-up left out."""
    seconds, rss = samples.known("rss_bytes")
    settled = seconds >= seconds[0] + WARM_UP_RATIO * np.ptp(seconds) if len(seconds) else np.empty(0, np.bool_)
    seconds, rss = seconds[settled], rss[settled]
    if len(rss) < MIN_SAMPLES // 2:
        return
    quarters = np.array([np.median(part) for part in np.array_split(rss, 4)])
    growth = float(quarters[-1] - quarters[0])
    beyond = growth - own_bytes
    is_steady = bool((np.diff(quarters) > 0).all()) and quarters[-1] - quarters[1] >= MIN_LATE_GROWTH_RATIO * growth
    if not is_steady or beyond < max(MIN_GROWTH_BYTES, MIN_GROWTH_RATIO * quarters[0]):
        return
    # Medians of the outer quarters lie three quarters of the time apart.
    rate = beyond / (0.75 * float(np.ptp(seconds)))
    yield Finding(
        *("rising_memory", "rss_bytes", seconds[0] * 1e3, seconds[-1] * 1e3, rate, "bytes/s"),
        f"The memory of this process grew all the time, from {size(quarters[0])} to {size(quarters[-1])}: "
        f"{size(rate)} a second beyond what the profiler held. Look for what is kept from step to step: lists of "
        "tensors, graphs traced again, a cache without a bound.",
    )


def _frame(found: list[Finding]) -> pd.DataFrame:
    rows = sorted(map(vars, found), key=lambda row: (row["kind"], row["start_ms"], row["metric"]))
    return typed_table(rows, TABLES["system_findings"].types)
