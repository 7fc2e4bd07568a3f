"""`RunDiff` -> one sentence on what changed, and what a reader must know of the comparison."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.arrays import Float64
from ..common import number, plural
from ..verdict import MARKING
from .changes import BUSY_MACHINE, FEWEST_CELLS, UNCHANGED, Pace, compare_samples, compare_steps
from .rows import waits_for_input

if TYPE_CHECKING:
    from .changes import Samples, StepTimes
    from .comparison import RunDiff


_ALIKE = 0.5
"""An op changed as the steps did where it did at least this part of it (of the logarithm)."""
_MOSTLY = 0.5
_NOTABLE = 0.2
"""Parts that explain this much of the change are its cause even where most ops changed alike."""
_MOST_NAMED = 2
_CATEGORIES = {
    "input": "input time, waiting for data,",
    "copy_to_device": "the time of copies to the device",
    "host_compute": "the time of ops on the host",
    "dispatch": "the time of Python and dispatch, between the ops,",
    "kernel_launch": "the time to launch kernels",
    "sync": "the time to synchronise with the device",
    "device_compute": "the time of kernels",
    "device_to_device": "the time of copies between devices",
    "device_collectives": "the time of collective operations",
    "output": "output time, copying results back,",
    "compile": "compile time",
    "checkpoint": "the time to save and restore weights",
    "other": "other time, that nothing explains,",
}
_OF_OPS = ("host_compute", "device_compute")
"""What these categories consist of, ops and layers name better."""


def verdict_of(diff: RunDiff) -> str:
    """What changed: first the program, with figures, then the steps and why, and the machine where its samples tell so."""
    program = diff.program if diff.a.trace.n_events and diff.b.trace.n_events else ()
    told = f"What differs in b: {'; '.join(program)}. " if program else ""
    return f"{told}{_of_times(diff)}"


def _of_times(diff: RunDiff) -> str:
    if not diff.is_per_step:
        return _without_steps(diff)
    steps, samples = diff.step_times, diff.samples
    if samples.is_known and samples.a != samples.b:
        return _by_sample(samples)
    times = f"a step takes {number(steps.b_ms)} ms in b and {number(steps.a_ms)} ms in a"
    if not steps.is_known:
        return _too_few(times, steps)
    parts = changed_parts(diff)
    if not steps.is_beyond_noise:
        if parts:
            sure = _times_as_long(steps.ratio, steps.interval)
            return f"The step time changed within its noise ({times}: {sure}), but {parts}.{other_load(diff)}"
        what = "No change of the step time beyond noise" if diff.program else "No change beyond noise"
        return f"{what}: {times} ({_times_as_long(steps.ratio, steps.interval)}).{_only_alike(diff)}"
    word = "slower" if steps.ratio > 1 else "faster"
    head = _by_how_much("Steps", steps.ratio, steps.interval, times)
    rows, between = _changed(diff.layers), _between(diff)
    if _waits_for_input(between):
        rows = rows[rows["kind"] != "input"]
    change = float(rows["change_ms"].sum() + between["change_ms"].sum())
    explained, is_alike = (change / (diff.step_times.b_ms - diff.step_times.a_ms)), _alike_share(diff) >= _MOSTLY
    if explained >= (_NOTABLE if is_alike else _MOSTLY):
        return f"{head}; {parts}.{f' Most ops are {word}, too.' if is_alike else ''}{other_load(diff)}"
    if is_alike and not diff.program:
        besides = f" Besides, {parts}." if parts else ""
        return f"{head}, and most ops are, too: no single part is known.{other_load(diff)}{besides}"
    if parts:
        return f"{head}, but what changed beyond its noise explains little of it: {parts}.{other_load(diff)}"
    return f"{head}, but no part changed beyond its own noise: capture more steps to find which did.{other_load(diff)}"


def _by_sample(samples: Samples) -> str:
    """Of runs whose batches differ: their steps do not do the same work, so samples are compared."""
    a_us, b_us = samples.us
    times = (
        f"a sample takes {number(b_us)} µs in b, with {samples.b:,.0f} a step, and {number(a_us)} µs in a, with "
        f"{samples.a:,.0f}"
    )
    if not samples.steps.is_known:
        return _too_few(times, samples.steps)
    if not samples.is_beyond_noise:
        sure = _times_as_long(samples.ratio, samples.interval)
        return f"The batches differ, and no change of the time per sample is beyond noise: {times} ({sure})."
    return f"{_by_how_much('Samples', samples.ratio, samples.interval, times)}."


def _too_few(times: str, steps: StepTimes) -> str:
    few = f"at least {FEWEST_CELLS} steps in each run tell the noise, here are {steps.n_a} and {steps.n_b}"
    return f"Too few steps to judge: {times}; {few}."


def _by_how_much(what: str, ratio: float, interval: tuple[float, float], times: str) -> str:
    """`Steps of b are 3.85 times faster: <times> (95 % interval 3.7 to 4.0)`."""
    factor, sure = speed_words(ratio, interval)
    return f"{what} of b are {factor}: {times} ({sure})"


def speed_words(ratio: float, interval: tuple[float, float]) -> tuple[str, str]:
    """`3.85 times faster` and `95 % interval 3.7 to 4.0`, of the time of one over that of another."""
    factors = (ratio, *interval) if ratio > 1 else (1 / ratio, 1 / interval[1], 1 / interval[0])
    factor, low, high = map(number, factors)
    return f"{factor} times {'slower' if ratio > 1 else 'faster'}", f"95 % interval {low} to {high}"


def _times_as_long(ratio: float, interval: tuple[float, float]) -> str:
    return f"{number(ratio)} times as long, 95 % interval {number(interval[0])} to {number(interval[1])}"


def _only_alike(diff: RunDiff) -> str:
    """Why steps that differ by more than they do within each run are not called slower or faster."""
    steps = diff.step_times
    if not steps.is_only_alike:
        return ""
    load = other_load(diff)
    if diff.program:
        return load
    word = "slower" if steps.ratio > 1 else "faster"
    return f" Most ops are {word}, too: no single part is known.{load}"


def _between(diff: RunDiff) -> pd.DataFrame:
    """The categories that changed and that no op is in."""
    categories = _changed(diff.categories)
    return categories[~categories["category"].isin(_OF_OPS)]


def _waits_for_input(between: pd.DataFrame) -> bool:
    """Whether a category already tells what iterators and their layer do."""
    return bool((between["category"] == "input").any())


def _changed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[~frame["state"].isin(UNCHANGED)]


def changed_parts(diff: RunDiff) -> str:
    """The largest changes beyond noise in words: layers, else ops, else iterators, and what is between ops; else ""."""
    between = _between(diff)
    has_input = _waits_for_input(between)
    found: list[tuple[float, str]] = []
    for frame, label, is_input in (
        (diff.layers, "layer", diff.layers["kind"] == "input"),
        (diff.ops, "name", diff.ops["type"].map(waits_for_input).astype(np.bool_)),
        (diff.iterators, "long_name", diff.iterators["name"] == "Root"),
    ):
        rows = _changed(frame[~is_input] if has_input else frame)
        found = found or [(abs(float(row["change_ms"])), _part(row, label)) for _, row in rows.iterrows()]
    for _, row in (between if found else _changed(diff.categories)).iterrows():
        found.append((abs(float(row["change_ms"])), _category(row)))
    named = [text for _, text in sorted(found, key=lambda one: -one[0])[:_MOST_NAMED]]
    rest = len(found) - len(named)
    return " and ".join(named) + (f", and {rest} more" if rest else "")


def _category(row: pd.Series) -> str:
    word = "rose" if row["change_ms"] > 0 else "fell"
    return f"{_CATEGORIES[row['category']]} {word} from {number(row['a_ms'])} to {number(row['b_ms'])} ms a step"


def _part(row: pd.Series, label: str) -> str:
    name, change = str(row[label]), float(row["change_ms"])
    name += " on the device" if row.get("device") == "Device" else ""
    sign = "+" if change >= 0 else "−"
    word = {"added": "is new", "removed": "is gone"}.get(row["state"], f"is {row['state']}")
    return f"{name} {word} ({sign}{number(abs(change))} ms a step)"


def _alike_share(diff: RunDiff) -> float:
    """The share of the op time that is of ops which changed as the steps did, at least by half of it (of the logarithm)."""
    ops = diff.ops[(diff.ops["a_ms"] > 0) & (diff.ops["b_ms"] > 0)]
    change = np.log(ops["ratio"].to_numpy(np.float64)) / math.log(diff.step_times.ratio)
    weight = ops["a_ms"].to_numpy(np.float64)
    return float(weight[change >= _ALIKE].sum() / weight.sum()) if len(ops) else 0.0


def other_load(diff: RunDiff) -> str:
    """A sentence on how many cores other programs took, where the samples tell that it was more in the slower run; else ""."""
    if not diff.is_machine_busier:
        return ""
    (a, b), n_cores = diff.loads, max(load.n_cores for load in diff.loads if load is not None)
    used = [f"{number(load.others)} during {name}" for load, name in ((b, "b"), (a, "a")) if load is not None]
    return f" Other programs used {' and '.join(used)} of {n_cores} cores: run both again on a free machine to tell."


def _without_steps(diff: RunDiff) -> str:
    none = [name for name, one in (("a", diff.a), ("b", diff.b)) if not one.is_averaged.any()]
    empty = [name for name, one in (("a", diff.a), ("b", diff.b)) if not one.trace.n_events]
    if empty:
        return f"{_both(empty)} recorded nothing: there is nothing to compare."
    return f"{_both(none)} no steps, so whole captures are compared, and how much of a change is noise is not known."


def _both(names: list[str]) -> str:
    return "Both runs have" if len(names) == 2 else f"Run {names[0]} has"


def notices(diff: RunDiff) -> tuple[str, ...]:
    """What makes the runs hard to compare, one sentence each; the most telling first."""
    found = []
    if not diff.is_per_step:
        without = [one for one in (diff.a, diff.b) if not one.is_averaged.any()]
        marks = dict.fromkeys(MARKING[one.environment.framework] for one in without)
        found.append(f"Mark steps with {' and '.join(marks)}, so that changes can be told from noise.")
    elif not diff.step_times.is_known:
        found.append(f"Noise is known from {FEWEST_CELLS} steps on in both runs: no row is called slower or faster.")
    has_device = [bool(one.op_shares.is_device.any()) or len(one.kernels.frame) > 0 for one in (diff.a, diff.b)]
    if has_device[0] != has_device[1]:
        name = "a" if has_device[0] else "b"
        found.append(
            f"Only run {name} computed on a device: ops, layers and lines are rows by device, so compare their sums."
        )
    n_a, n_b = diff.step_times.n_a, diff.step_times.n_b
    if diff.is_per_step and max(n_a, n_b) > 4 * min(n_a, n_b):
        found.append(f"a has {plural(n_a, 'step')}, b has {n_b}: the noise is that of the shorter run above all.")
    return tuple(found)


_MACHINE = "a busy machine does that, too; compare the profiles to tell: %%tfprofile --compare"


def _told(step_ms: Float64) -> str:
    """The median and the range of step times: `29.0 ms (24.8 to 39.9)`."""
    middle, least, most = (number(float(of(step_ms))) for of in (np.median, np.min, np.max))
    return f"{middle} ms ({least} to {most})"


def since_last(before: Pace, now: Pace) -> str:
    """How a run compares with the last: `3.9 times faster than the last run (95 % interval 3.7 to 4.1).`; else ""."""
    samples = compare_samples(before, now)
    if samples.is_known and before.samples != now.samples:
        per, ratio, interval, figures = " per sample", samples.ratio, samples.interval, ""
    else:
        steps = compare_steps(before.step_ms, now.step_ms)
        per, ratio, interval = "", steps.ratio, steps.interval
        figures = f"the median step took {_told(before.step_ms)}, now {_told(now.step_ms)}"
    low, high = interval
    if not low <= high:  # not known
        return ""
    if low <= 1 <= high and not figures:
        return f"No sure change{per} since the last run."
    if low <= 1 <= high:
        return f"{_unsure(before.step_ms, now.step_ms)}: {figures}."
    factor, sure = speed_words(ratio, interval)
    doubt = f"; {_MACHINE}" if max(ratio, 1 / ratio) < BUSY_MACHINE else ""
    return f"{factor}{per} than the last run ({figures and f'{figures}; '}{sure}){doubt}."


def _unsure(before: Float64, now: Float64) -> str:
    """What can be said of runs whose means may be the same: that no step of the one is among those of the other is a fact."""
    if np.max(now) < np.min(before):
        return "Every step was faster than any of the last run"
    if np.min(now) > np.max(before):
        return "Every step was slower than any of the last run"
    return "No sure change since the last run"
