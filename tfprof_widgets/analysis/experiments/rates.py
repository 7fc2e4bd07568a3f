"""Runs of variants -> one row per run, and one row per variant with its rate and how it compares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..base.intervals import median_and_interval
from ..columns.registry import TABLES

FRAME_COLUMNS = TABLES["experiment(...).frame"].names
TABLE_COLUMNS = TABLES["experiment(...).table"].names


def run_frame(runs: Sequence[tuple[str, int, int, int, float]]) -> pd.DataFrame:
    """One row per run, in the order given, with the columns `FRAME_COLUMNS`.

    Args:
        runs: `(variant, repeat, n_steps, n_samples, seconds)`.
    """
    frame = pd.DataFrame(list(runs), columns=list(FRAME_COLUMNS[:5]))
    frame = frame.astype(
        {"variant": "object", "repeat": "int64", "n_steps": "int64", "n_samples": "int64", "seconds": "float64"}
    )
    frame["samples_per_second"] = frame["n_samples"] / frame["seconds"]
    frame["step_time_ms"] = frame["seconds"] * 1e3 / frame["n_steps"]
    return frame


def rate_table(frame: pd.DataFrame, variants: Sequence[str]) -> pd.DataFrame:
    """One row per variant in the order given, with the columns `TABLE_COLUMNS`; nan for one without runs.

    `low` and `high` are the 95 % interval of `samples_per_second`. `ratio` is the rate divided by that of the first variant that
    has runs, both of one repeat, so that what slows the machine during a repeat cancels; the median over the repeats and its
    95 % interval.
    """
    by_variant = {name: rows.set_index("repeat") for name, rows in frame.groupby("variant", sort=False)}
    first = next((by_variant[name] for name in variants if name in by_variant), None)
    table = []
    for name in variants:
        rows = by_variant.get(name)
        if rows is None or first is None:
            table.append((name, *[math.nan] * 7))
            continue
        ratios = (rows["samples_per_second"] / first["samples_per_second"]).dropna()
        rate, low, high = median_and_interval(rows["samples_per_second"].tolist())
        step_time_ms = float(rows["step_time_ms"].median())
        table.append((name, rate, low, high, step_time_ms, *median_and_interval(ratios.tolist())))
    return pd.DataFrame(table, columns=list(TABLE_COLUMNS))


def rows_of(table: pd.DataFrame) -> list[Any]:
    """The rows of a table of variants, its columns as attributes."""
    return list(table.itertuples(index=False))
