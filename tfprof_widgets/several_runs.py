"""Profiles of one training with different numbers of workers -> `Scaling`: how well it scales, as a table and a chart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from .export.report.bar_table import BarRow, bar_table
from .profiles import Profile

if TYPE_CHECKING:
    import pandas as pd

    from .analysis.comparison.scaling_table import GlobalBatch


@dataclass(frozen=True, eq=False)
class Scaling:
    """How a training scales with its workers: what `scaling` gives. In a notebook it shows itself as bars, elsewhere as
    text.
    """

    frame: pd.DataFrame
    """A table: a row is a run, the fewest workers first.

    `n_workers` (hosts that train), `step_time_ms` (the mean, NaN without steps), `speedup` (samples a second over those
    of the first row that has any), `efficiency_ratio` (that over what as many workers would give at best),
    `communication_ratio` (part of the step time in which hosts wait in an exchange), `largest_exchange` (type of the
    exchange with the most time, empty without any), `largest_exchange_ratio` (its part of the step time), `n_steps`
    (that are averaged), `n_missing` (hosts that could not be read or captured), `title` (of the profile).
    """
    sentence: str
    """The run with the most workers against the one with the fewest, in a sentence."""
    global_batch: GlobalBatch
    """`"grows"` or `"fixed"`: whether all workers together take more in a step the more they are, or always as much."""
    notices: tuple[str, ...] = ()
    """What makes the runs hard to compare, a sentence each; mostly empty."""

    def __repr__(self) -> str:
        return f"<Scaling: {self.sentence}>"

    def __str__(self) -> str:
        rows = self.frame.to_string(index=False, float_format=lambda value: f"{value:,.4g}")
        return "\n".join([self.sentence, rows, *self.notices])

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/plain": str(self), "text/html": _page(self)}


def scaling(profiles: Iterable[Profile], *, global_batch: GlobalBatch = "grows") -> Scaling:
    """Compare runs of one training with different numbers of workers: what more workers win, and where the rest goes.

    Args:
        profiles: at least two, captured or loaded, in any order. Hosts that train are counted; parameter servers and
            coordinators are not.
        global_batch: what all workers together take in a step: it `"grows"` with their number, as each keeps its own
            batch, or is `"fixed"`, divided among them.

    Returns:
        The comparison: `.frame` is the table, `.sentence` says it in words.

    Raises:
        TypeError: one of them is no `Profile`.
        ValueError: there are fewer than two, or `global_batch` is neither.
        CaptureError: one of them is still being captured.
        TraceError: the data of one of them is not there, or cannot be read.

    Examples:
        >>> tfprof.scaling([before, after]).sentence
        'All runs have 1 worker: how it scales cannot be told.'
    """
    from .analysis.comparison.scaling_table import GlobalBatch as Known
    from .analysis.comparison.scaling_table import ScalingRun, scaling_frame, scaling_sentence

    runs = [*profiles]
    for one in runs:
        if not isinstance(one, Profile):
            raise TypeError(
                f"tfprof.scaling(profiles) compares profiles, and one is a {type(one).__name__}: "
                "give what `tfprof.load(path)` or `tfprof.capture_remote(addresses)` made"
            )
    if len(runs) < 2:
        raise ValueError(f"tfprof.scaling(profiles) compares at least two profiles, and {len(runs)} was given.")
    if global_batch not in get_args(Known):
        raise ValueError(f"global_batch={global_batch!r} is neither 'grows' nor 'fixed'.")
    frame = scaling_frame(
        [ScalingRun(one.title, one.run.results, one.run.n_missing_hosts) for one in runs], global_batch=global_batch
    )
    return Scaling(frame, scaling_sentence(frame), global_batch, tuple(_notices(frame)))


def _notices(frame: pd.DataFrame) -> Iterator[str]:
    from .analysis.base.wording import plural
    from .analysis.comparison.scaling_table import is_compared

    for row, compared in zip(frame.to_dict("records"), is_compared(frame).tolist(), strict=True):
        run = f"the run {row['title'] or 'without a title'}"
        if not row["n_steps"]:
            yield f"{run[0].upper()}{run[1:]} has no steps of workers."
        if row["n_missing"]:
            missing = f"{plural(row['n_missing'], 'host')} of {run} could not be read or captured"
            effect = "it is compared without" if compared else f"{_UNKNOWN}, so it is not compared"
            yield f"{missing}: {effect}."


_UNKNOWN = "how many workers it had is not known"
_COLUMNS = ("workers", "ms a step", "speed-up", "efficiency", "communication", "largest exchange")


def _page(scaling: Scaling) -> str:
    """A bar per run, the speed-up, and a line where as many workers could be at best; HTML without scripts."""
    runs = scaling.frame.to_dict("records")
    first = next((run["n_workers"] for run in runs if math.isfinite(run["speedup"])), runs[0]["n_workers"])
    ends = [value for run in runs for value in (run["speedup"], run["n_workers"] / first) if math.isfinite(value)]
    batch = "grows with the workers" if scaling.global_batch == "grows" else "is divided among them"
    return bar_table(
        scaling.sentence,
        _COLUMNS,
        [_bar_row(run, run["n_workers"] / first) for run in runs],
        longest=max(ends, default=1.0),
        notices=(
            f"The global batch {batch}; the line marks what as many workers could give at best.",
            *scaling.notices,
        ),
    )


def _bar_row(run: dict[Any, Any], at_best: float) -> BarRow:
    from .analysis.base.wording import number, percent

    exchange = run["largest_exchange"]
    cells = (
        "no steps" if math.isnan(run["step_time_ms"]) else number(run["step_time_ms"]),
        "" if math.isnan(run["speedup"]) else number(run["speedup"]),
        "" if math.isnan(run["efficiency_ratio"]) else percent(run["efficiency_ratio"]),
        "" if math.isnan(run["communication_ratio"]) else percent(run["communication_ratio"]),
        f"{exchange} {percent(run['largest_exchange_ratio'])}" if exchange else "none",
    )
    return BarRow(f"{run['n_workers']:,}", cells, run["speedup"], (at_best, at_best), title=str(run["title"]))
