"""Samples of a machine, drawn: columns as functions of time -> the table that a capture takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

Values = npt.NDArray[np.float64]
HZ = 10


def sampled(seconds: float = 10.0, *, noise: float = 0.02, **columns: Callable[[Values], Values]) -> pd.DataFrame:
    """Ten samples a second from one second before the trace on, each column with a little noise of a fixed seed."""
    rng = np.random.default_rng(5)
    time_s = np.arange(0, seconds, 1 / HZ)
    frame = pd.DataFrame({"time_ms": time_s * 1e3 - 1e3})
    for name, values in columns.items():
        frame[name] = values(time_s) * (1 + noise * rng.standard_normal(len(time_s)))
    return frame


def level(value: float) -> Callable[[Values], Values]:
    """The same all the time."""
    return lambda time_s: np.full(len(time_s), value)


def total(rate: Callable[[Values], Values]) -> Callable[[Values], Values]:
    """What has been counted so far at such a rate a second."""
    return lambda time_s: np.append(0.0, np.cumsum(rate(time_s[:-1])) / HZ)
