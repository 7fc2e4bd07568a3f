"""Runs of the variants of a program -> their rates with intervals, and the sentence that says what was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from .common import median_and_interval, number, percent
from .tables import table

FRAME = table("""
    experiment(...).frame: a run of a variant, in the order in which they ran
        variant             text   of the experiment
        repeat              int    the how many-th of the variant, from 0
        n_steps             int    that were timed
        n_samples           int    in those
        seconds             float  that they took [seconds]
        samples_per_second  float  the rate [samples/s]
        step_time_ms        float  mean time of a step
""")

TABLE = table("""
    experiment(...).table: a variant
        variant             text   of the experiment
        samples_per_second  float  the rate, of all runs [samples/s]
        low                 float  lower end of its 95 % interval [samples/s]
        high                float  upper end of that [samples/s]
        step_time_ms        float  mean time of a step
        ratio               float  its rate over that of the first variant
        ratio_low           float  lower end of the 95 % interval of the ratio [ratio, 1 is all]
        ratio_high          float  upper end of that [ratio, 1 is all]
""")


def run_frame(runs: Sequence[tuple[str, int, int, int, float]]) -> pd.DataFrame:
    """One row per run `(variant, repeat, n_steps, n_samples, seconds)`, in the order given, with the columns `FRAME`."""
    frame = pd.DataFrame(list(runs), columns=list(FRAME.names[:5]))
    frame = frame.astype(
        {"variant": "object", "repeat": "int64", "n_steps": "int64", "n_samples": "int64", "seconds": "float64"}
    )
    frame["samples_per_second"] = frame["n_samples"] / frame["seconds"]
    frame["step_time_ms"] = frame["seconds"] * 1e3 / frame["n_steps"]
    return frame


def rate_table(frame: pd.DataFrame, variants: Sequence[str]) -> pd.DataFrame:
    """One row per variant in the order given with the columns `TABLE`, nan without runs; `ratio` is the median over repeats of
    the rate divided by that of the first variant with runs."""
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
    return pd.DataFrame(table, columns=list(TABLE.names))


def rows_of(table: pd.DataFrame) -> list[Any]:
    """The rows of a table of variants, its columns as attributes."""
    return list(table.itertuples(index=False))


_FULL_OVERLAP = 0.85
"""Together at less than this share of the slower part, input and model wait for each other."""


def input_only_sentence(table: pd.DataFrame) -> str:
    """`The input alone gives 310 samples/s (305 to 314), 103 ms a batch.`"""
    row = rows_of(table)[0]
    return (
        f"The input alone gives {_rate(row.samples_per_second)}{_interval(row.low, row.high)}, "
        f"{number(row.step_time_ms)} ms a batch."
    )


def input_or_model_sentence(table: pd.DataFrame) -> str:
    """`Input alone 310 samples/s, model alone 1,240 samples/s: input-bound by 4.0 times.`, and how well they overlap."""
    reads, trains, both = rows_of(table)
    text = f"Input alone {_rate(reads.samples_per_second)}, model alone {_rate(trains.samples_per_second)}: "
    if _is_one(trains):
        text += f"no difference that can be told from noise{_interval(trains.ratio_low, trains.ratio_high)}."
    elif trains.ratio >= 1:
        text += f"input-bound by {_times(trains.ratio)}."
    else:
        text += f"model-bound by {_times(1 / trains.ratio)}."
    slower = min(reads.samples_per_second, trains.samples_per_second)
    share = both.samples_per_second / slower
    text += f" Together {_rate(both.samples_per_second)}, {percent(share)} of the slower one"
    # The faster of the intervals' ends must still be below: two medians alone may differ by noise.
    if share < _FULL_OVERLAP and not both.high >= slower:
        return f"{text}: they wait for each other; end the data set with .prefetch(tf.data.AUTOTUNE)."
    return f"{text}."


def synthetic_sentence(table: pd.DataFrame) -> str:
    """`On one batch in memory 1,240 samples/s instead of 310: the input costs 75 % of a step.`"""
    together, model = rows_of(table)
    text = (
        f"On one batch in memory {_rate(model.samples_per_second)} instead of {number(together.samples_per_second)}: "
    )
    if _is_one(model) or model.ratio <= 1:
        return (
            f"{text}the input costs nothing that can be told from noise{_interval(model.ratio_low, model.ratio_high)}."
        )
    return f"{text}the input costs {percent(1 - 1 / model.ratio)} of a step."


def saved_ratio(table: pd.DataFrame) -> float:
    """The share of a step that is saved without what an advice is about; 0 where noise can be all of it."""
    without = rows_of(table)[1]
    return 0.0 if _is_one(without) or without.ratio <= 1 else float(1 - 1 / without.ratio)


def saving_sentence(table: pd.DataFrame, how: str, per: str = "step") -> str:
    """`Measured: 41.2 ms a step, 25.0 without callbacks, which saves 39 % (95 % interval 35 % to 42 %).`; `per` is `sample` where
    batches differ."""
    own, without = rows_of(table)
    ms, other_ms = (row.step_time_ms if per == "step" else 1e3 / row.samples_per_second for row in (own, without))
    times = f"Measured: {number(ms)} ms a {per}, {number(other_ms)} {how}"
    saved = saved_ratio(table)
    if not saved:
        return f"{times}: no difference beyond noise{_interval(without.ratio_low, without.ratio_high)}."
    low, high = (1 - 1 / ratio for ratio in (without.ratio_low, without.ratio_high))
    sure = "" if math.isnan(low) else f" (95 % interval {percent(low)} to {percent(high)})"
    return f"{times}, which saves {percent(saved)}{sure}."


def batch_sizes_sentence(table: pd.DataFrame) -> str:
    """`batch 256 is fastest: 5,120 samples/s, 2.1 times that of batch 32.`"""
    ran = [row for row in rows_of(table) if not math.isnan(row.samples_per_second)]
    if not ran:
        return "No batch size fits into memory."
    first, best = ran[0], max(ran, key=lambda row: float(row.samples_per_second))
    if best is first:
        return f"{_title(best.variant)} is the fastest: {_rate(best.samples_per_second)}."
    if _is_one(best):
        return f"No batch size is faster than {first.variant} beyond noise: {_rate(first.samples_per_second)}."
    text = (
        f"{_title(best.variant)} is the fastest: {_rate(best.samples_per_second)}, {_times(best.ratio)} as many as "
        f"{first.variant}{_interval(best.ratio_low, best.ratio_high)}."
    )
    # A smaller one whose interval reaches the best is as good as it, for less memory.
    enough = next(row for row in ran if row is best or row.high >= best.samples_per_second)
    return text if enough is best else f"{text} {_title(enough.variant)} is as fast within noise."


def changes_sentence(table: pd.DataFrame) -> str:
    """What each variant after the first changes: `Everything 310 samples/s; without augment 1.80 times as many (1.7 to 1.9).`"""
    first, *others = rows_of(table)
    told, same = [], []
    for row in others:
        if math.isnan(row.ratio):
            continue
        if _is_one(row):
            same.append(str(row.variant))
        else:
            told.append((abs(math.log(row.ratio)), f"{row.variant} {_speed(row)}"))
    text = f"{_title(first.variant)} {_rate(first.samples_per_second)}"
    if told:
        text += "; " + "; ".join(part for _, part in sorted(told, reverse=True))
    if same:
        text += f"; {', '.join(same)}: no difference that can be told from noise"
    return f"{text}."


def _speed(row: Any) -> str:
    return f"{_times(row.ratio)} as many{_interval(row.ratio_low, row.ratio_high)}"


def _is_one(row: Any) -> bool:
    """Whether the interval of the ratio holds 1; without an interval nobody can say so."""
    return bool(row.ratio_low <= 1 <= row.ratio_high)


def _rate(samples_per_second: float) -> str:
    return f"{number(samples_per_second)} samples/s"


def _times(ratio: float) -> str:
    return f"{ratio:,.1f} times" if ratio >= 1.95 else f"{ratio:.2f} times"


def _interval(low: float, high: float) -> str:
    if math.isnan(low) or math.isnan(high):
        return ""
    return f" ({number(low)} to {number(high)})" if high < 1e9 else " (too few repeats agree for an interval)"


def _title(text: str) -> str:
    return text[:1].upper() + text[1:]
