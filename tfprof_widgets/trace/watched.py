"""The columns of a training that was watched: its steps, its samples of the machine, what happened. No files.

A step is a call of the function that trains; an event is a dict that is safe for JSON, with `kind`, `at_ns` (Unix time) and
`step` (its number, or None).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

STEP = np.dtype(
    [
        ("start_ns", "<i8"),  # Unix time
        ("duration_us", "<f4"),  # from its begin to that of the next; to its end for the last of an epoch
        ("wait_us", "<f4"),  # of it: waited for the next element; NaN: not known
        ("outside_us", "<f4"),  # of it: between the calls that compute, without the wait; NaN: not known
        ("loss", "<f4"),  # NaN: not known
        ("number", "<i4"),
        ("n_batches", "<u2"),
        ("kind", "u1"),
        ("flags", "u1"),
    ]
)
"""One row a step, 32 bytes."""

TRAIN, VALIDATION, PREDICT, OTHER = range(4)
"""Values of `kind`. OTHER: a loop of the user's own, which is as good as training."""

PROFILED = 1
"""A flag: a profile window was open."""
EPOCH_BEGIN = 2
AFTER_WINDOW = 4
"""It paid for the files of a window."""
COMPILED = 8
"""TensorFlow traced a function meanwhile."""

SAMPLE_COLUMNS: tuple[str, ...] = (
    "time_ns",
    "cpu_pct",
    "process_cpu_pct",
    "rss_bytes",
    "tf_bytes",
    "gpu_pct",
    "gpu_memory_bytes",
    "gpu_clock_mhz",
    "gpu_throttled",
)
"""Of samples, rows of float64, about one a second; NaN where not known. `tf_bytes`: in use by TensorFlow's allocators of
GPUs; `gpu_throttled`: 1 where the clock is lowered for heat or power."""

Steps = npt.NDArray[np.void]
"""Rows of `STEP`."""
Event = Mapping[str, Any]


@dataclass(frozen=True)
class WatchLog:
    """A training that was watched, as its folder holds it."""

    folder: Path
    header: Mapping[str, Any]
    steps: Steps
    """All kinds, in the order they ran; a map of the file where it is large."""
    samples: pd.DataFrame
    """`SAMPLE_COLUMNS`."""
    events: tuple[Event, ...]
    windows: tuple[Path, ...]
    """The run directories of the profile windows that are whole enough to be there, in the order they were written."""
    notices: tuple[str, ...] = ()
    """What of the folder could not be read, a sentence each."""


def trained(steps: Steps) -> npt.NDArray[np.bool_]:
    """Which of the rows are steps of training, not of validation or prediction."""
    found: npt.NDArray[np.bool_] = (steps["kind"] == TRAIN) | (steps["kind"] == OTHER)
    return found
