"""`RunDiff` -> the JSON-safe object that `js/src/views/diff_panel/comparison.ts` reads: head, categories, tables, pairs, alignment.

diff_content(diff, titles=("before", "after"), notices=(), cut=(cut_a, cut_b))
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...analysis.comparison.changes import UNCHANGED
from ...analysis.comparison.comparison import RunDiff
from ...analysis.comparison.words import verdict
from ...analysis.facts.facts import Facts
from ...trace.trace import Bool, Int64
from .first_view import Span, bounds_of, typical_steps
from .names import cut_texts
from .plain import plain, records

MOST_ROWS = 1000
"""Of one table; what changed beyond noise comes first, then what changed most."""
MOST_OPS = 200
"""That one row selects in the timelines, such as the ops of a layer."""
_SHOWN_STEPS = 3
"""In which a reader sees when something in b starts later than in a."""

Cut = Callable[[str], str]


Row = Mapping[Hashable, Any]


@dataclass(frozen=True)
class _Kind:
    """How a table of a `RunDiff` becomes one that is shown."""

    name: Callable[[Row], str]
    """What a row is called."""
    detail: str = ""
    """The column that tells it apart besides."""
    values: tuple[str, str, str, str] = ("a_ms", "b_ms", "change_ms", "noise_ms")
    key: tuple[str, ...] = ()
    """What a row that stands for several ops is known by in both runs."""
    selects: Callable[[Row], tuple[str, str]] = lambda _row: ("", "")
    """What any other row selects in the timelines of a and of b, "" for nothing."""


def _both(name: str) -> tuple[str, str]:
    return name, name


_KINDS: Mapping[str, _Kind] = {
    "ops": _Kind(
        lambda row: row["name"],
        "type",
        selects=lambda row: (row["a_name"], row["name"] if _is_in_b(row) else ""),
    ),
    "layers": _Kind(lambda row: row["layer"], "class_name", key=("layer", "class_name", "kind", "device")),
    "source_lines": _Kind(
        lambda row: row["code"].strip() or row["bucket"], key=("file", "line", "function", "code", "bucket", "device")
    ),
    "kernels": _Kind(lambda row: row["name"], "op_name", selects=lambda row: _both(row["op_name"] or row["name"])),
    "iterators": _Kind(lambda row: row["name"], "long_name", selects=lambda row: _both(row["long_name"])),
    "memory": _Kind(lambda row: row["allocator"], "metric", ("a", "b", "change", "noise")),
}


def diff_content(
    diff: RunDiff, *, titles: Sequence[str], notices: Sequence[str], cut: tuple[Cut, Cut]
) -> dict[str, Any]:
    """All that a comparison shows beside its timelines.

    Args:
        diff: the comparison.
        titles: of both runs.
        notices: what a reader must know first, one sentence each.
        cut: by run how its names are cut on their way to the browser, so that selecting by them works.
    """
    cut_a, cut_b = cut
    return {
        "titles": list(titles),
        "verdict": verdict(diff),
        "notices": [*notices, *_nothing_in_common(diff)],
        "is_per_step": diff.is_per_step,
        "n_events": [diff.a.trace.n_events, diff.b.trace.n_events],
        "step_times": _step_times(diff),
        "categories": cut_texts(records(diff.categories), cut_b),
        "tables": [table for name in _KINDS if (table := _table(name, diff, cut))["n_rows"]],
        "pairs": [[cut_a(a), cut_b(b)] for a, b in _renamed(diff.ops)],
        "lone": _lone(diff.ops, cut),
        "alignment": _alignment(diff),
    }


def _nothing_in_common(diff: RunDiff) -> list[str]:
    ops = diff.ops
    if (
        not (diff.a.trace.n_events and diff.b.trace.n_events)
        or ops.empty
        or (_is_in_b(ops) & (ops["a_name"] != "")).any()
    ):
        return []
    return ["No op is in both runs: they are different programs, so only their step times can be compared."]


def _step_times(diff: RunDiff) -> dict[str, Any] | None:
    if not diff.is_per_step:
        return None
    times = diff.step_times
    found = {name: plain(getattr(times, name)) for name in ("a_ms", "b_ms", "ratio", "noise_ms", "n_a", "n_b")}
    low, high = times.interval
    return found | {
        "interval": [plain(low), plain(high)],
        "is_known": bool(times.is_known),
        "is_beyond_noise": bool(times.is_beyond_noise),
    }


def _alignment(diff: RunDiff) -> dict[str, Any]:
    """Where both timelines begin, in ps: at the start of a typical step of each, or of the capture where a run has none.

    Returns:
        `start_ps` and `step` (its number, "" for none) by run, and `span_ps`, how much is shown: a few typical steps of
        the slower run, or the longer capture.
    """
    starts, steps, spans = [], [], []
    for one in (diff.a, diff.b):
        frame = one.steps.frame
        few = typical_steps(one.is_averaged, frame["session"].to_numpy()) if len(frame) else None
        if few is None or not diff.is_per_step:
            start, step, span = 0.0, "", _length(one)
        else:
            row, last = few[0], min(few[1], few[0] + _SHOWN_STEPS - 1)
            step = str(frame["step"].iloc[row])
            start = float(frame["start_ps"].iloc[row])
            span = float(frame["start_ps"].iloc[last] + frame["duration_ps"].iloc[last]) - start
        starts.append(start)
        steps.append(step)
        spans.append(span)
    return {"start_ps": starts, "step": steps, "span_ps": max(spans)}


def _length(facts: Facts) -> float:
    bounds: Span = bounds_of(facts, int(facts.trace.end_ps.max()) if facts.trace.n_events else 0)
    return bounds[1] - bounds[0]


# ---- tables ---------------------------------------------------------------------------------------------------------


def _table(name: str, diff: RunDiff, cut: tuple[Cut, Cut]) -> dict[str, Any]:
    kind, frame = _KINDS[name], getattr(diff, name)
    changed = ~frame["state"].isin(UNCHANGED).to_numpy(np.bool_)
    chosen = _first_rows(changed)
    shown = frame.iloc[chosen]
    rows, cut_b = shown.to_dict("records"), cut[1]
    numbers = dict(zip(("a", "b", "change", "noise"), kind.values, strict=True)) | {"ratio": "ratio"}
    columns = {
        "name": [cut_b(kind.name(row)) for row in rows],
        "detail": [cut_b(str(text)) for text in shown[kind.detail]] if kind.detail else [""] * len(shown),
        "place": [f"{row['file']}:{row['line']}" if "file" in row and not row["bucket"] else "" for row in rows],
        "where": shown["device"].astype(str).str.lower().tolist() if "device" in shown else [""] * len(shown),
        "unit": shown["unit"].tolist() if "unit" in shown else ["ms"] * len(shown),
        **{key: [plain(value) for value in shown[column].tolist()] for key, column in numbers.items()},
        "state": shown["state"].tolist(),
        "ops": _ops_of(name, diff, rows, cut),
    }
    is_noise_known = bool(frame[kind.values[-1]].notna().any())
    counts = {"n_rows": len(frame), "n_changed": int(changed.sum()), "is_noise_known": is_noise_known}
    return {"id": name, **counts, "columns": columns}


def _first_rows(changed: Bool) -> Int64:
    """Positions of the rows that are shown, in the order of the table: those that changed beyond noise in any case."""
    order = np.argsort(~changed, kind="stable")[:MOST_ROWS]
    return np.sort(order)


def _ops_of(name: str, diff: RunDiff, rows: list[dict[Hashable, Any]], cut: tuple[Cut, Cut]) -> list[list[list[str]]]:
    """For each row what it selects in the timelines of a and of b."""
    kind = _KINDS[name]
    if kind.key:
        sides = [_Members(one, name, own_cut) for one, own_cut in zip((diff.a, diff.b), cut, strict=True)]
        return [[side.of(tuple(row[key] for key in kind.key)) for side in sides] for row in rows]
    return [[[own(text)] if text else [] for own, text in zip(cut, kind.selects(row), strict=True)] for row in rows]


def _is_in_b(ops: Any) -> Any:
    """Of a table of ops, or of one row."""
    return (ops["b_count"] > 0) | (ops["b_ms"] > 0)


class _Members:
    """The ops of each layer, or of each source line, of one run."""

    def __init__(self, facts: Facts, name: str, cut: Cut) -> None:
        found = facts.layers if name == "layers" else facts.source_lines
        shares = facts.op_shares
        labels = [tuple(row) for row in found.entries[list(_KINDS[name].key[:-1])].itertuples(index=False)]
        self._ops: dict[tuple[Hashable, ...], list[str]] = {}
        entries, is_device = found.op_entry.tolist(), np.asarray(shares.is_device).tolist()
        for op, entry in enumerate(entries):  # one turn per op
            if entry < 0:
                continue
            names = self._ops.setdefault((*labels[entry], "Device" if is_device[op] else "Host"), [])
            if len(names) < MOST_OPS:
                names.append(cut(shares.name[op]))

    def of(self, key: tuple[Hashable, ...]) -> list[str]:
        return self._ops.get(key, [])


def _renamed(ops: pd.DataFrame) -> list[tuple[str, str]]:
    """Names in a and in b of ops that are called differently in the two runs."""
    both = ops[(ops["a_name"] != "") & (ops["a_name"] != ops["name"])]
    return list(zip(both["a_name"].tolist(), both["name"].tolist(), strict=True))


def _lone(ops: pd.DataFrame, cut: tuple[Cut, Cut]) -> list[list[str]]:
    """Names of ops that only a has, and that only b has: they have no partner, whatever is called the same."""
    is_in_a = ops["a_name"] != ""
    names = (ops.loc[is_in_a & ~_is_in_b(ops), "a_name"], ops.loc[~is_in_a, "name"])
    return [[own(text) for text in column.head(MOST_ROWS)] for own, column in zip(cut, names, strict=True)]
