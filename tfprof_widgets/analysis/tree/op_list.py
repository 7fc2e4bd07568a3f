"""An `OpGraph` and the figures of its ops -> the rows of the op view: a list of op types."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.op_graph import OpGraph
from .names import ROOT, accounted, matches
from .nodes import Int64
from .op_figures import COLUMN, NUMBERS, Figures
from .selection import passes_limits, passes_names
from .tree_options import EVERYTHING, FIGURES, TreeOptions


@dataclass(frozen=True, eq=False)
class OpList:
    """The op types to show, the root before them."""

    names: list[str]
    own: Figures
    total: Figures
    row_of_op: Int64
    """Per op, the row that has its figures; -1 where none has."""
    n_types: int
    """How many types there are before anything is left out, root included."""


def op_list(graph: OpGraph, figures: Figures, options: TreeOptions) -> OpList:
    """The types in order; the total of each is its own figures and those of all behind it, shown or not.

    Types of equal figures are ordered by name. An op of which two types match counts once.

    Differs from tfprof: there an op counts as often as expressions match it.

    Source: TFOp in tensorflow/core/profiler/internal/tfprof_op.cc.
    """
    types = graph.ops["type"].to_numpy(object)
    names, type_of_op = np.unique(types, return_inverse=True) if len(types) else (types, np.zeros(0, np.int64))
    is_counted = accounted(graph.ops["op_types"].tolist(), options.account_type_regexes)
    own = np.zeros((len(names), len(NUMBERS)), figures.dtype)
    np.add.at(own, type_of_op[is_counted], figures[is_counted])
    counts = np.ones(len(names), np.bool_)
    if options.account_type_regexes != EVERYTHING:
        counts = own[:, COLUMN["occurrence"]] > 0
    order = np.flatnonzero(counts)
    if options.order_by in (*FIGURES, "occurrence"):
        order = order[np.argsort(-own[order, COLUMN[options.order_by]], kind="stable")]
    total = _from_behind(own[order])
    shown = _shown([str(name) for name in names[order]], total, own[order], options)
    if options.account_displayed_op_only:
        sums = _from_behind(own[order[shown]])
        root_total = sums[:1]
    else:
        sums, root_total = total[shown], total[:1]
    row_of_type = np.full(len(names), -1, np.int64)
    row_of_type[order[shown]] = np.arange(1, len(shown) + 1)
    empty = np.zeros((1, len(NUMBERS)), figures.dtype)
    return OpList(
        names=[ROOT, *(str(name) for name in names[order[shown]])],
        own=np.vstack((empty, own[order[shown]])),
        total=np.vstack((root_total if len(root_total) else empty, sums)),
        row_of_op=np.where(is_counted, row_of_type[type_of_op], -1),
        n_types=len(names) + 1,
    )


def _from_behind(own: Figures) -> Figures:
    return np.cumsum(own[::-1], axis=0, dtype=own.dtype)[::-1]


def _shown(names: list[str], total: Figures, own: Figures, options: TreeOptions) -> Int64:
    """Which of the counted types to show: those between the first to start at and the first to stop at."""
    start = 0
    if options.start_name_regexes not in ((), EVERYTHING):
        start = _first(matches(names, options.start_name_regexes), len(names))
    is_trimmed = matches(names, options.trim_name_regexes)
    is_trimmed[:start] = False
    stop = min(_first(is_trimmed, len(names)), start + max(options.max_depth + 1, 0))
    figures_of = {name: total[:, COLUMN[name]] for name in FIGURES}
    is_shown = passes_limits(figures_of, options) & passes_names(names, options)
    is_shown &= own[:, COLUMN["occurrence"]] >= options.min_occurrence
    found = np.flatnonzero(is_shown)
    return found[(found >= start) & (found < stop)]


def _first(is_one: np.ndarray, otherwise: int) -> int:
    return int(np.argmax(is_one)) if is_one.any() else otherwise
