"""Samples of the machine -> a table of what is odd in them: dips, choppy or full networks, a late start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from ..base.table_types import typed_table
from ..columns.registry import TABLES
from .dips import dips, late_start
from .finding import Finding
from .network import choppy_network_in, growing_network_out, saturated_network_in
from .samples import Samples

MIN_SECONDS = 2.0
MIN_SAMPLES = 20
"""In less than this a pause of the garbage collector looks like a dip: nothing is said."""


def find_anomalies(system: pd.DataFrame | None, *, pauses_ms: Sequence[tuple[float, float]] = ()) -> pd.DataFrame:
    """Look for what a person would stop at in plots of the samples, but for memory: the profiler's is in the process's.

    Args:
        system: samples with `time_ms`, the columns of `Profile.system`, in time order; columns that are not there are not
            looked at.
        pauses_ms: begin and end of times that the program spent waiting for the profiler: they are not looked at.

    Returns:
        One row per finding, `kind, metric, start_ms, end_ms, value, unit, text`; by kind, then start. `metric` is a column of
        the samples. The value of a kind, and its unit:

        - `utilisation_dip`: mean load in the dip (%). Where the dip is, the processor waited: for input, a callback, a save.
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
        choppy_network_in,
        saturated_network_in,
        growing_network_out,
    )
    return _frame([finding for part in parts for finding in part(samples)])


def _frame(found: list[Finding]) -> pd.DataFrame:
    rows = sorted(map(vars, found), key=lambda row: (row["kind"], row["start_ms"], row["metric"]))
    return typed_table(rows, TABLES["system_findings"].types)
