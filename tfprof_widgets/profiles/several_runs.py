"""Profiles of one training with different numbers of workers -> `Scaling`: how well it scales, as a table and a chart."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from .one_run import Profile

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.comparison.scaling_table import GlobalBatch


@dataclass(frozen=True, eq=False)
class Scaling:
    """How a training scales with its workers."""

    frame: pd.DataFrame
    """One row per run, the fewest workers first: `n_workers, step_time_ms, speedup, efficiency_ratio, communication_ratio,
    largest_exchange, largest_exchange_ratio, n_steps, n_missing, title`; see `scaling_frame`."""
    summary: str
    """The run with the most workers against the one with the fewest, in a sentence."""
    global_batch: GlobalBatch
    """Whether all workers together take more in a step the more they are, or always as much."""
    notices: tuple[str, ...] = ()
    """What makes the runs hard to compare, one sentence each; mostly none."""

    def __repr__(self) -> str:
        return f"<Scaling: {self.summary}>"

    def __str__(self) -> str:
        rows = self.frame.to_string(index=False, float_format=lambda value: f"{value:,.4g}")
        return "\n".join([self.summary, rows, *self.notices])

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/plain": str(self), "text/html": _page(self)}


def scaling(profiles: Iterable[Profile], *, global_batch: GlobalBatch = "grows") -> Scaling:
    """Compare runs of one training with different numbers of workers: what more workers win, and where the rest goes.

    Args:
        profiles: at least two, captured or loaded, in any order. Hosts that train are counted; parameter servers and
            coordinators are not.
        global_batch: what all workers together take in a step: it `"grows"` with their number, as each keeps its own batch,
            or is `"fixed"`, divided among them.

    Returns:
        The comparison: `.frame`, `.summary`; it displays itself.

    Raises:
        TypeError: one of them is no `Profile`.
        ValueError: there are fewer than two, or `global_batch` is neither.
        CaptureError, TraceError: the data of one of them is not there, or cannot be read.
    """
    from ..analysis.comparison.scaling_table import GlobalBatch as Known
    from ..analysis.comparison.scaling_table import ScalingRun, scaling_frame, scaling_sentence

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
    from ..analysis.base.wording import plural
    from ..analysis.comparison.scaling_table import is_compared

    for row, compared in zip(frame.to_dict("records"), is_compared(frame).tolist(), strict=True):
        run = f"the run {row['title'] or 'without a title'}"
        if not row["n_steps"]:
            yield f"{run[0].upper()}{run[1:]} has no steps of workers."
        if row["n_missing"]:
            missing = f"{plural(row['n_missing'], 'host')} of {run} could not be read or captured"
            effect = "it is compared without" if compared else f"{_UNKNOWN}, so it is not compared"
            yield f"{missing}: {effect}."


_UNKNOWN = "how many workers it had is not known"


_CELL = 'style="text-align:right;padding:2px 8px;white-space:nowrap;background:none"'
_HEAD = ("workers", "ms a step", "speed-up", "efficiency", "communication", "largest exchange", "")
_ROOM = 1.05
"""The longest bar ends this part before the right edge."""


def _page(scaling: Scaling) -> str:
    """A bar per run, the speed-up, and a line where as many workers could be at best; HTML without scripts."""
    rows = [row._asdict() for row in scaling.frame.itertuples(index=False)]  # type: ignore[operator, misc]
    first = next((row["n_workers"] for row in rows if math.isfinite(row["speedup"])), rows[0]["n_workers"])
    ends = [value for row in rows for value in (row["speedup"], row["n_workers"] / first) if math.isfinite(value)]
    full = max(ends, default=1.0) * _ROOM
    head = "".join(f"<th {_CELL}>{text}</th>" for text in _HEAD)
    lines = "".join(_line(row, row["n_workers"] / first, full) for row in rows)
    batch = "grows with the workers" if scaling.global_batch == "grows" else "is divided among them"
    told = "".join(f"<li>{html.escape(text)}</li>" for text in scaling.notices)
    return (
        f'<div style="font-size:13px;line-height:1.4"><div style="font-weight:600">{html.escape(scaling.summary)}</div>'
        f'<table style="border-collapse:collapse;width:100%;margin:6px 0;font-size:13px"><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table>"
        f"<div>The global batch {batch}; the line marks what as many workers could give at best.</div>"
        f"{f'<ul style=margin:0>{told}</ul>' if told else ''}</div>"
    )


def _line(row: dict[str, Any], ideal: float, full: float) -> str:
    from ..analysis.base.wording import number, percent

    known = math.isfinite(row["speedup"])
    texts = (
        number(row["step_time_ms"]) if math.isfinite(row["step_time_ms"]) else "no steps",
        number(row["speedup"]) if known else "",
        percent(row["efficiency_ratio"]) if known else "",
        percent(row["communication_ratio"]) if math.isfinite(row["communication_ratio"]) else "",
        html.escape(f"{row['largest_exchange']} {percent(row['largest_exchange_ratio'])}")
        if row["largest_exchange"]
        else "none",
    )
    cells = "".join(f"<td {_CELL}>{text}</td>" for text in texts)
    name = f'<th scope="row" {_CELL} title="{html.escape(str(row["title"]))}">{row["n_workers"]:,}</th>'
    return f'<tr style="background:none">{name}{cells}<td style="width:40%;padding:2px 0">{_bar(row, ideal, full)}</td></tr>'


def _bar(row: dict[str, Any], ideal: float, full: float) -> str:
    """The speed-up in the accent colour, the best possible as a line in the colour of the text."""
    width = 100 * row["speedup"] / full if math.isfinite(row["speedup"]) else 0.0
    return (
        '<div aria-hidden="true" style="position:relative;height:18px">'
        f'<div style="position:absolute;left:0;top:2px;bottom:2px;width:{width:.2f}%;background:#4c8bf5"></div>'
        f'<div style="position:absolute;left:{100 * ideal / full:.2f}%;top:0;bottom:0;width:0;'
        'border-left:2px solid currentColor"></div></div>'
    )
