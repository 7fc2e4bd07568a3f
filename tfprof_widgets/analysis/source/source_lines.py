"""Framework ops -> time per line of source code, and in named buckets what no line stands for."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.source_map import SourceMap, empty_source_map
from ...trace.trace import Float64, Int32, Trace, UInt8
from ..base.table_types import table_of_arrays, text_column
from ..columns.registry import TABLES
from ..layers.op_scopes import OpScopes
from ..layers.op_sources import OpMatch
from ..ops.op_shares import OpShares
from ..ops.op_totals import OpTotals, side_table
from .sampled_lines import sampled_lines
from .source_entries import Charges, Place, charge_ops

LINE_PHASES = ("forward", "backward", "other")
SOURCE_LINE_COLUMNS = TABLES["source_lines"].names
_CELL = re.compile(r"Cell \[\d+\]")


@dataclass(frozen=True, eq=False, repr=False)
class SourceLines:
    """Which line made each op, and what each line costs."""

    frame: pd.DataFrame
    """One row per side and entry, `SOURCE_LINE_COLUMNS`, first devices then host, then by self time falling.

    The three times add up to `self_time_us`, which over all rows is the self time of all ops; `self_time_ratio` is of the
    side's. `file` is a path; of a notebook's cell what the notebook shows beside it, such as `Cell [5]`, where that is known
    and no other cell's.
    """
    entries: pd.DataFrame
    """`file, line, function, code, bucket`: a line of code (`bucket` is "") or a bucket (`line` is 0, `file` ""), the most
    costly first; `file` is always the path."""
    op_entry: Int32
    """For each framework op its row in `entries`."""
    op_phase: UInt8
    """For each framework op an index into `LINE_PHASES`."""
    files: pd.DataFrame
    """`file, title, text` of the user's files and cells whose text is known."""
    sampled: pd.DataFrame
    """`file, line, function, code, n_samples, time_ms, time_ratio`: for how long the user's thread was at each line, waiting
    included, by samples; the longest first. Not added to the other times: it is of Python, whatever the ops cost."""

    def __repr__(self) -> str:
        n = int((self.entries["bucket"] == "").sum())
        return f"SourceLines({n} line{'s' * (n != 1)}, {len(self.entries) - n} buckets)"


def compute_source_lines(
    trace: Trace,
    shares: OpShares,
    source_map: SourceMap | None = None,
    *,
    totals: OpTotals,
    scopes: OpScopes | None = None,
    match: OpMatch | None = None,
) -> SourceLines:
    """Charge every framework op to one line of the user's code or to one named bucket.

    The first rule that applies decides:

    1. Iterators and ops that make or read datasets are "tf.data". The functions that the user gave to a dataset are no such
       ops: they are graphs, and theirs are charged as any graph's, to the line of the lambda.
    2. An eager op has no traceback. It is charged to the line at which the user's thread was sampled while it had ops of this
       type executed, if that was one line for four samples in five; else it is "eager op, several lines". Without samples it is
       at the line that called Keras' `fit`, `evaluate` or `predict`, if all of its type ran in calls from it; else it is "eager
       op, line unknown".
    3. An op of a traced graph has a traceback; a gradient op is charged as the forward op whose gradient it is, in
       `backward_time_us`. Of its frames
       a. the innermost one of the user's is charged, whatever library code it called,
       b. unless Keras' `fit`, `evaluate` or `predict` lie below it: then optimizer and losses or metrics are buckets of these
          names, copies are "copies", and what else the training loop does is "Keras library";
       c. and ops of layers that Keras called, in `fit` or in a functional or sequential model, are charged to the line that
          made the layer, or the layer or model around it (found in the user's texts, see `capture/source/layer_lines.py`),
          or, where none is known, to the frame of rule a. So is what `fit` does in a layer's scope, such as its first weights.
       d. Without a frame of the user's the library is the bucket.
    4. Where no graph is known, the name tells "Keras optimizer" and "Keras loss/metrics".
    5. Else the compiled program's metadata give the frames, or the file and line, for rule 3, where these are not of TensorFlow.
    6. All others are "copies", "arguments and results of compiled programs" or "gradient sums" by their types and names, or
       "not in a traced graph".

    `other_time_us` is that of optimizers, updates of variables in eager code, metrics, the input and of buckets but the loss;
    `forward_time_us` is the rest.

    Args:
        trace: the trace, for its clock.
        shares: the framework ops that units stand for.
        source_map: what the capture noted; without it rules 1, 4, 5 and 6 remain.
        totals: time and executions of the framework ops.
        scopes: what their names tell, where it is known already.
        match: the graph op of each, where it is known already.
    """
    source_map = source_map or empty_source_map()
    charges = charge_ops(trace, shares, source_map, scopes=scopes, match=match)
    order, charges = _costly_first(charges, totals.self_us)
    entries = _entries(order, source_map)
    frame = _frame(entries, charges, shares, totals, _cell_titles(source_map))
    sampled = sampled_lines(trace, source_map)
    sampled.insert(3, "code", text_column(_codes(sampled["file"].tolist(), sampled["line"].tolist(), source_map)))
    return SourceLines(frame, entries, charges.place, charges.phase, _files(source_map), sampled)


def _costly_first(charges: Charges, own_us: Float64) -> tuple[list[Place], Charges]:
    """Entries in order of their time: one per line, named as the function that costs most there."""
    time_us = np.bincount(charges.place, own_us, minlength=len(charges.places))
    merged: dict[tuple[str, int, str], list[int]] = {}
    for i in np.argsort(-time_us, kind="stable").tolist():
        place = charges.places[i]
        merged.setdefault((place.file, place.line, place.bucket), []).append(i)
    groups = sorted(merged.values(), key=lambda group: -sum(time_us[group]))
    number = np.zeros(len(charges.places), np.int32)
    chosen = []
    for n, group in enumerate(groups):
        number[group] = n
        named = next((i for i in group if charges.places[i].function), group[0])
        chosen.append(charges.places[named])
    return chosen, Charges(tuple(chosen), number[charges.place], charges.phase)


def _entries(places: list[Place], source_map: SourceMap) -> pd.DataFrame:
    files, lines = [place.file for place in places], [place.line for place in places]
    columns = {
        "file": files,
        "line": lines,
        "function": [place.function for place in places],
        "code": _codes(files, lines, source_map),
        "bucket": [place.bucket for place in places],
    }
    return table_of_arrays(
        {key: np.array(one, np.int64 if key == "line" else np.object_) for key, one in columns.items()}
    )


def _codes(files: list[str], lines: list[int], source_map: SourceMap) -> list[str]:
    """The text of each line without its indentation, "" where it is not known."""
    known = source_map.files
    texts = {file: text.split("\n") for file, text in zip(known["file"], known["text"], strict=True)}
    found = []
    for file, line in zip(files, lines, strict=True):
        text = texts.get(file, [])
        found.append(text[line - 1].strip() if 0 < line <= len(text) else "")
    return found


def _frame(
    entries: pd.DataFrame, charges: Charges, shares: OpShares, totals: OpTotals, titles: dict[str, str]
) -> pd.DataFrame:
    columns, row = side_table(entries, charges.place, charges.phase, LINE_PHASES, totals)
    columns["n_ops"] = np.bincount(row[totals.occurrences > 0], minlength=2 * len(entries))
    top = np.full(2 * len(entries), -1, np.int64)
    order = np.argsort(totals.self_us, kind="stable")
    top[row[order]] = order  # of several the last one stays
    columns["top_op"] = np.array([shares.name[i] if i >= 0 else "" for i in top.tolist()], np.object_)
    columns["file"] = np.array([titles.get(file, file) for file in columns["file"].tolist()], np.object_)
    rows = np.flatnonzero(columns["n_ops"])
    rows = rows[np.lexsort((-columns["self_time_us"][rows], rows >= len(entries)))]
    return table_of_arrays({name: columns[name][rows] for name in SOURCE_LINE_COLUMNS})


def _cell_titles(source_map: SourceMap) -> dict[str, str]:
    """From the path of a notebook's cell, which only its kernel knows, to what the notebook shows beside it."""
    titles = source_map.files["title"].tolist()
    count = Counter(titles)
    files = zip(source_map.files["file"].tolist(), titles, strict=True)
    return {file: title for file, title in files if count[title] == 1 and _CELL.fullmatch(title)}


def _files(source_map: SourceMap) -> pd.DataFrame:
    names = ("file", "title", "text", "is_user")
    rows = zip(*(source_map.files[name].tolist() for name in names), strict=True)
    first: dict[str, tuple[str, str, str]] = {}
    for file, title, text, is_user in rows:
        if is_user and text:
            first.setdefault(file, (file, title, text))
    return table_of_arrays(
        {name: np.array([row[i] for row in first.values()], np.object_) for i, name in enumerate(names[:3])}
    )
