"""A comparison -> its largest changes, as lines of text and as tables of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.comparison.comparison import RunDiff
    from ..export.report.part import Part, Row

    Cell = str | Callable[[Row], str]
    """A column, or what writes it."""

_MOST_SHOWN = 5
_MOST_CHARS = 60


def changes_text(runs: RunDiff) -> Iterator[str]:
    """The largest changes of layers and ops, one line each."""
    from ..analysis.base.wording import number

    for title, frame, label, n_rows in _changed(runs):
        shown = frame.head(_MOST_SHOWN)
        yield f"\nChanges of {title}, beyond noise first ({len(shown)} of {n_rows}), {_unit(runs)}:"
        for _, row in shown.iterrows():
            noise = "" if row["noise_ms"] != row["noise_ms"] else f", noise {number(row['noise_ms'])}"
            times = f"{number(row['a_ms'])} -> {number(row['b_ms'])} ({row['change_ms']:+.3g}{noise})"
            yield f"  {row['state']:<8} {short(str(row[label])):<{_MOST_CHARS}} {times}"


def changes_parts(runs: RunDiff) -> Iterator[Part]:
    """What a step of both is made of, and the same changes, as tables."""
    from ..export.report.part import part_of
    from ..export.report.plain_html import ROOM

    unit, made_of = _unit(runs), runs.categories
    times: dict[str, Cell] = {
        "change": lambda row: str(row["state"]),
        f"a ({unit})": "a_ms",
        f"b ({unit})": "b_ms",
        f"b - a ({unit})": lambda row: f"{row['change_ms']:+.3g}",
    }
    shown = made_of[(made_of["a_ms"] > 0) | (made_of["b_ms"] > 0)]
    columns: dict[str, Cell] = {"category": lambda row: str(row["category"]).replace("_", " "), **times}
    room = replace(ROOM, rows=len(made_of))
    yield from part_of("What a step is made of", "diff.categories", shown, columns, room=room)
    for title, frame, label, n_rows in _changed(runs):
        heading = f"Changes of {title}, beyond noise first"
        columns = {title.removesuffix("s"): label, **times}
        yield from part_of(heading, f"diff.{title}", frame, columns, room=ROOM, n_rows=n_rows)


def short(text: str) -> str:
    """A text on one line, cut in the middle where it is long."""
    text = " ".join(text.split())
    half = (_MOST_CHARS - 3) // 2
    return text if len(text) <= _MOST_CHARS else f"{text[:half]}...{text[-half:]}"


def _changed(runs: RunDiff) -> Iterator[tuple[str, pd.DataFrame, str, int]]:
    """Of layers and ops what changed, beyond noise first: the table, those of its rows, its column of names, all its rows."""
    from ..analysis.comparison.changes import UNCHANGED

    for title, frame, label in (("layers", runs.layers, "layer"), ("ops", runs.ops, "name")):
        moved = frame[frame["change_ms"] != 0]
        is_same = moved["state"].isin(UNCHANGED)
        if not moved.empty:
            yield title, moved.loc[is_same.sort_values(kind="stable").index], label, len(frame)


def _unit(runs: RunDiff) -> str:
    return "ms a step" if runs.is_per_step else "ms"
