"""The rows of two runs -> the table of what changed: each with its noise, and whether it changed beyond that."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64, Int64
from ..base.student import two_sided
from .common_change import CommonChange
from .quantities import Quantities
from .spread import STEADY, Measured, measure

ALPHA = 0.01
"""How often all tables of a comparison of two runs of one program together may name a change that is none."""
_N_FAMILIES = 3
"""So many tables count as independent: ops, input and memory; the others show the same time in another way."""
SAME, NOT_SURE = "same", "not sure"
UNCHANGED = (SAME, NOT_SURE)
"""States of rows of which no change is proven."""
_ALIKE, _ALIKE_OF_STEP = 0.25, 0.02
"""A row is proven the same where its change, with all that noise may hide, is less than this part of it, or of a step."""
_LEAST_PART = 5e-3
"""What changed by less than this part of a step is never beyond noise: it is not worth mentioning, and rows this small differ
between runs of one program by more than what is measured of larger ones allows for (by up to 0.35 % of a step)."""


@dataclass(frozen=True)
class Scale:
    """What the rows of one table are judged by."""

    is_per_step: bool
    step: float = 0.0
    """A step in the unit of the rows: changes are worth mentioning against it."""
    waiting: tuple[float, float] = (0.0, 0.0)
    """By how much rows that wait may rise and fall without a reason in the program. The longest that such a row can wait for
    is what takes the whole step: that may get longer or shorter as steps do, and the row has all of the difference."""
    host: CommonChange = field(default_factory=CommonChange)
    device: CommonChange = field(default_factory=CommonChange)
    working: tuple[float, float] = (0.0, 0.0)
    """By which part the working rows of hosts may rise and fall at least: of those that make up the step, as the step may."""
    words: tuple[str, str] = ("slower", "faster")


def measured_pair(a: Quantities, b: Quantities, partner: Int64) -> tuple[Measured, Measured, Bool]:
    """Rows of both runs measured in the same way; and which rows of `a` occur in almost every step of both."""
    partner_seen = np.append(b.seen, 1.0)[partner]
    steady_a = (a.seen >= STEADY) & (partner_seen >= STEADY)
    steady_b = b.seen >= STEADY
    matched = partner >= 0
    steady_b[partner[matched]] = steady_a[matched]
    return measure(a.per_cell, is_steady=steady_a), measure(b.per_cell, is_steady=steady_b), steady_a & matched


def row_changes(a: Quantities, b: Quantities, partner: Int64, scale: Scale, *, name: str = "") -> pd.DataFrame:
    """Compare the rows of two runs.

    Args:
        a: the rows of the first run.
        b: those of the second.
        partner: for each row of `a` its row of `b`, -1 for none.
        scale: what they are judged by.
        name: the label that names a row, for a last column `a_name` with its name in `a`, "" where `a` has none.

    Returns:
        The labels (of `b`, where it has the row), then `a` and `b` (typical value per step, or the total without steps),
        `change` (b - a), `ratio` (b / a; NaN where a is 0), `a_count` and `b_count` (executions per step), `noise` (how large
        the change may be without meaning anything, in its direction; NaN where that is not known) and `state`; by size of
        the change, falling. Of what did not change beyond noise `SAME` is proven, `NOT_SURE` is not.

    A row is slower or faster where it changed by more than its noise and by more than nearly all rows did alike: it then
    changed by itself. The noise has the error of both runs, the scatter between runs and what all rows did in common; its
    quantile allows for all rows of the table that are worth mentioning.
    """
    time_a, time_b, _ = measured_pair(a, b, partner)
    rows_a, rows_b = _side_by_side(partner, len(b))
    values, errors, seen, count = (
        tuple(_side(one, rows) for one, rows in zip(columns, (rows_a, rows_b), strict=True))
        for columns in (
            (time_a.typical, time_b.typical),
            (time_a.error, time_b.error),
            (a.seen, b.seen),
            (a.count, b.count),
        )
    )
    n_cells = a.per_cell.shape[1], b.per_cell.shape[1]
    is_device, is_waiting = (
        np.where(rows_b >= 0, _side(second, rows_b), _side(first, rows_a)).astype(np.bool_)
        for first, second in ((a.is_device, b.is_device), (a.is_waiting, b.is_waiting))
    )
    change = values[1] - values[0]
    noise = _noise(values, errors, min(time_a.degrees, time_b.degrees), is_device, scale)
    works = ~is_waiting & ~is_device
    noise = np.where(works, np.maximum(noise, values[0] * np.where(change >= 0, *scale.working)), noise)
    noise = np.where(is_waiting, np.hypot(noise, np.where(change >= 0, *scale.waiting)), noise)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(values[0] != 0, values[1] / values[0], np.nan)
    both = pd.concat([b.labels, a.labels], ignore_index=True)
    frame = both.iloc[np.where(rows_b >= 0, rows_b, len(b) + rows_a)].reset_index(drop=True)
    frame = frame.assign(
        a=values[0],
        b=values[1],
        change=change,
        ratio=ratio,
        a_count=count[0],
        b_count=count[1],
        noise=noise,
        state=pd.Series(_states((rows_a, rows_b), values, change, noise, seen, n_cells, scale), dtype=object),
    )
    if name:
        frame["a_name"] = pd.Series([*a.labels[name], ""], dtype=object).to_numpy()[rows_a]
    if scale.is_per_step:  # what only ran in steps that the averages leave out has nothing to compare
        frame = frame[(seen[0] > 0) | (seen[1] > 0)]
        change = change[(seen[0] > 0) | (seen[1] > 0)]
    order = np.argsort(-np.abs(change), kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def _side_by_side(partner: Int64, n_b: int) -> tuple[Int64, Int64]:
    """Rows of both runs: first those of `a`, each with its partner, then what only `b` has; -1 for none."""
    only_b = np.setdiff1d(np.arange(n_b), partner)
    none = np.full(len(only_b), -1)
    return np.concatenate([np.arange(len(partner)), none]), np.concatenate([partner, only_b])


def _side(column: Float64 | Bool, rows: Int64) -> Float64:
    """A column by row, 0 for row -1."""
    found: Float64 = np.append(column, 0)[rows].astype(np.float64)
    return found


def _noise(
    values: tuple[Float64, ...], errors: tuple[Float64, ...], degrees: int, is_device: Bool, scale: Scale
) -> Float64:
    """The bound of each change in its direction."""
    a, b = values
    if not degrees or not scale.is_per_step:
        return np.full(len(a), np.nan)
    # Rows too small to be worth mentioning cannot be mentioned wrongly either.
    n_rows = max(int((np.maximum(a, b) >= _LEAST_PART * scale.step).sum()), 1)
    quantile = two_sided(ALPHA / _N_FAMILIES / n_rows, 2 * degrees)
    ratio = np.where(is_device, scale.device.ratio, scale.host.ratio)
    scatter = np.where(is_device, scale.device.scatter, scale.host.scatter)
    # A row that only one run has was expected to be there: it is not noise by itself, but its value has some.
    spread = np.sqrt(errors[0] ** 2 + errors[1] ** 2 + (scatter * (a + b) / 2) ** 2)
    common = a * (ratio - 1)
    # Without a reason a row stays as it is or does as all do; the farther of both, in the direction of its change.
    expected = np.where(b >= a, np.maximum(common, 0), np.maximum(-common, 0))
    return np.asarray(np.maximum(expected + quantile * spread, _LEAST_PART * scale.step), np.float64)


def _states(
    rows: tuple[Int64, Int64],
    values: tuple[Float64, ...],
    change: Float64,
    noise: Float64,
    seen: tuple[Float64, ...],
    n_cells: tuple[int, ...],
    scale: Scale,
) -> list[str]:
    (rows_a, rows_b), (values_a, values_b) = rows, values
    states = np.full(len(change), NOT_SURE, dtype=object)
    with np.errstate(invalid="ignore"):
        alike = np.maximum(_ALIKE * np.maximum(values_a, values_b), _ALIKE_OF_STEP * scale.step)
        states[(change == 0) | (np.abs(change) + noise <= alike)] = SAME
        states[change > noise] = scale.words[0]
        states[change < -noise] = scale.words[1]
    # One that occurs now and then may by chance not occur at all in the other run.
    limit = ALPHA / _N_FAMILIES / max(len(change), 1)
    for word, here, there, other in (("added", 1, 0, rows_a), ("removed", 0, 1, rows_b)):
        is_alone = other < 0
        by_chance = (1 - np.minimum(seen[here], 1)) ** n_cells[there]
        states[is_alone] = np.where(by_chance[is_alone] < limit, word, NOT_SURE)
    return [str(state) for state in states]
