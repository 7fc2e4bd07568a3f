"""Runs of the variants of a program -> their rates with intervals, and the sentence that says what was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from .common import median_and_interval, number, percent
from .table import table

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

    They are medians over the repeats, and 95 % intervals: Student's t on logarithms, widened for a median; NaN with one
    repeat. All are NaN for a variant that did not fit into memory.
""")


def run_frame(runs: Sequence[tuple[str, int, int, int, float]]) -> pd.DataFrame:
    """The table of runs `(variant, repeat, n_steps, n_samples, seconds)`, in the order given."""
    kinds = dict(zip(FRAME.names, ("object", "int64", "int64", "int64", "float64"), strict=False))
    frame = pd.DataFrame(list(runs), columns=list(kinds)).astype(kinds)
    frame["samples_per_second"] = frame["n_samples"] / frame["seconds"]
    frame["step_time_ms"] = frame["seconds"] * 1e3 / frame["n_steps"]
    return frame


def rate_table(frame: pd.DataFrame, variants: Sequence[str]) -> pd.DataFrame:
    """One row per variant with the columns `TABLE`, nan without runs; `ratio` is to the first variant with runs, as median."""
    by_variant = {name: rows.set_index("repeat") for name, rows in frame.groupby("variant", sort=False)}
    first = next((by_variant[name] for name in variants if name in by_variant), None)
    table: list[tuple[Any, ...]] = []
    for name in variants:
        rows = by_variant.get(name)
        if rows is None or first is None:
            table.append((name, *[math.nan] * 7))
            continue
        # Both of one repeat, so that what slows the machine during a repeat cancels.
        ratios = (rows["samples_per_second"] / first["samples_per_second"]).dropna()
        rates = median_and_interval(rows["samples_per_second"].tolist())
        table.append((name, *rates, float(rows["step_time_ms"].median()), *median_and_interval(ratios.tolist())))
    return pd.DataFrame(table, columns=list(TABLE.names))


_FULL_OVERLAP = 0.85
"""Together at less than this share of the slower part, input and model wait for each other."""


def input_only_sentence(table: pd.DataFrame) -> str:
    """`The input alone gives 310 samples/s (305 to 314), 103 ms a batch.`"""
    (row,) = _rows(table.head(1))
    rate = f"{_rate(row.samples_per_second)}{_interval(row.low, row.high)}"
    return f"The input alone gives {rate}, {number(row.step_time_ms)} ms a batch."


def input_or_model_sentence(table: pd.DataFrame) -> str:
    """`Input alone 310 samples/s, model alone 1,240 samples/s: input-bound by 4.0 times.`, and how well they overlap."""
    reads, trains, both = _rows(table)
    text = f"Input alone {_rate(reads.samples_per_second)}, model alone {_rate(trains.samples_per_second)}: "
    if _is_one(trains):
        text += f"no difference that can be told from noise{_of_ratio(trains)}."
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
    together, model = _rows(table)
    rates = f"{_rate(model.samples_per_second)} instead of {number(together.samples_per_second)}"
    saved = saved_ratio(table)
    cost = f"{percent(saved)} of a step" if saved else f"nothing that can be told from noise{_of_ratio(model)}"
    return f"On one batch in memory {rates}: the input costs {cost}."


def saved_ratio(table: pd.DataFrame) -> float:
    """The share of a step that is saved without what an advice is about; 0 where noise can be all of it."""
    _, without = _rows(table)
    return 0.0 if _is_one(without) or without.ratio <= 1 else float(1 - 1 / without.ratio)


def saving_sentence(table: pd.DataFrame, how: str, per: str = "step") -> str:
    """`Measured: 41.2 ms a step, 25.0 without callbacks, which saves 39 % (95 % interval 35 % to 42 %).`

    `how` in words the second was trained; `per` is a `step`, or a `sample` where steps have different batches.
    """
    own, without = _rows(table)
    ms, other_ms = (row.step_time_ms if per == "step" else 1e3 / row.samples_per_second for row in (own, without))
    times = f"Measured: {number(ms)} ms a {per}, {number(other_ms)} {how}"
    saved = saved_ratio(table)
    if not saved:
        return f"{times}: no difference beyond noise{_of_ratio(without)}."
    low, high = (1 - 1 / ratio for ratio in (without.ratio_low, without.ratio_high))
    sure = "" if math.isnan(low) else f" (95 % interval {percent(low)} to {percent(high)})"
    return f"{times}, which saves {percent(saved)}{sure}."


def batch_sizes_sentence(table: pd.DataFrame) -> str:
    """`batch 256 is fastest: 5,120 samples/s, 2.1 times that of batch 32.`"""
    ran = [row for row in _rows(table) if not math.isnan(row.samples_per_second)]
    if not ran:
        return "No batch size fits into memory."
    first, best = ran[0], max(ran, key=lambda row: float(row.samples_per_second))
    rate = _rate(best.samples_per_second)
    if best is first:
        return f"{_title(best.variant)} is the fastest: {rate}."
    if _is_one(best):
        return f"No batch size is faster than {first.variant} beyond noise: {_rate(first.samples_per_second)}."
    text = f"{_title(best.variant)} is the fastest: {rate}, {_times(best.ratio)} as many as {first.variant}{_of_ratio(best)}."
    # A smaller one whose interval reaches the best is as good as it, for less memory.
    enough = next(row for row in ran if row is best or row.high >= best.samples_per_second)
    return text if enough is best else f"{text} {_title(enough.variant)} is as fast within noise."


def changes_sentence(table: pd.DataFrame) -> str:
    """What each variant after the first changes: `Everything 310 samples/s; without augment 1.80 times as many (1.7 to 1.9).`"""
    first, *others = _rows(table)
    ran = [row for row in others if not math.isnan(row.ratio)]
    same = [str(row.variant) for row in ran if _is_one(row)]
    changed = [
        (abs(math.log(row.ratio)), f"{row.variant} {_times(row.ratio)} as many{_of_ratio(row)}")
        for row in ran
        if not _is_one(row)
    ]
    texts = [f"{_title(first.variant)} {_rate(first.samples_per_second)}"]
    texts += [text for _, text in sorted(changed, reverse=True)]
    if same:
        texts.append(f"{', '.join(same)}: no difference that can be told from noise")
    return f"{'; '.join(texts)}."


def _rows(table: pd.DataFrame) -> list[Any]:
    return list(table.itertuples(index=False))


def _is_one(row: Any) -> bool:
    """Whether the interval of the ratio holds 1; without an interval nobody can say so."""
    return bool(row.ratio_low <= 1 <= row.ratio_high)


def _rate(samples_per_second: float) -> str:
    return f"{number(samples_per_second)} samples/s"


def _times(ratio: float) -> str:
    return f"{ratio:,.1f} times" if ratio >= 1.95 else f"{ratio:.2f} times"


def _of_ratio(row: Any) -> str:
    return _interval(row.ratio_low, row.ratio_high)


def _interval(low: float, high: float) -> str:
    if math.isnan(low) or math.isnan(high):
        return ""
    return f" ({number(low)} to {number(high)})" if high < 1e9 else " (too few repeats agree for an interval)"


def _title(text: str) -> str:
    return text[:1].upper() + text[1:]
