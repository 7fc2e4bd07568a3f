"""The accounts of a scope, graph or code view and what to show -> the rows of the tree, sorted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .accounting import Accounts, totals
from .names import lets_through, matches, name_ranks
from .nodes import Int64, Nodes, preorder, subtree_ends
from .op_figures import COLUMN, Figures
from .tree_options import EVERYTHING, FIGURES, TreeOptions, TreeView

_OWN_LIMITS = {"params", "float_ops"}
"""Figures whose limits are of a node's own value in the scope and graph views."""


def shown_nodes(view: TreeView, nodes: Nodes, accounts: Accounts, options: TreeOptions) -> tuple[Int64, Int64, Figures]:
    """The nodes to show, down first, each one's parent as a row of them, and their totals.

    Source: ShouldShow(), SearchRoot() and PrintScope() in tensorflow/core/profiler/internal.
    """
    nodes_shown, parent = _walk(view, nodes, accounts, options)
    total = accounts.total[nodes_shown]
    if options.account_displayed_op_only and view != "code":
        own = accounts.own[nodes_shown]
        own[0, COLUMN["occurrence"]] = 1  # as in tfprof, where the root now counts itself
        total = totals(own, subtree_ends(parent))
    if options.order_by in FIGURES:
        key = -total[:, COLUMN[options.order_by]]
    elif options.order_by == "occurrence" and view == "code":
        key = -accounts.own[nodes_shown, COLUMN["occurrence"]]
    else:
        key = name_ranks([nodes.names[row] for row in nodes_shown])
    order = _sorted_preorder(parent, key)
    place = np.empty(len(order) + 1, np.int64)
    place[order], place[-1] = np.arange(len(order)), -1
    return nodes_shown[order], place[parent[order]], total[order]


def passes_limits(figures_of: dict[str, Figures], options: TreeOptions) -> NDArray[np.bool_]:
    """Which rows reach every `min_...` option; `figures_of` has the values of each of `FIGURES`."""
    limits = [figures_of[name] >= getattr(options, f"min_{name}") for name in FIGURES]
    return np.asarray(np.logical_and.reduce(limits), np.bool_)


def passes_names(names: list[str], options: TreeOptions) -> NDArray[np.bool_]:
    """Which rows `show_name_regexes` and `hide_name_regexes` let through."""
    return lets_through(names, options.show_name_regexes) & ~matches(names, options.hide_name_regexes)


def _may_show(view: TreeView, nodes: Nodes, accounts: Accounts, options: TreeOptions) -> NDArray[np.bool_]:
    """Which nodes have a name and figures to be shown, wherever they are."""
    of_own = _OWN_LIMITS if view != "code" else set()
    figures_of = {name: (accounts.own if name in of_own else accounts.total)[:, COLUMN[name]] for name in FIGURES}
    found = passes_limits(figures_of, options) & passes_names(list(nodes.names), options)
    if view != "code":
        found &= accounts.own[:, COLUMN["run_count"]] >= options.min_occurrence
    return found


def _walk(view: TreeView, nodes: Nodes, accounts: Accounts, options: TreeOptions) -> tuple[Int64, Int64]:
    """The nodes to show as the walk comes to them, and each one's parent as a row of these."""
    may_show = _may_show(view, nodes, accounts, options).tolist()
    is_trimmed = matches(nodes.names, options.trim_name_regexes).tolist()
    children = _children(accounts)
    starts = children[0]
    if options.start_name_regexes != EVERYTHING:
        starts = _found_below(children, matches(nodes.names, options.start_name_regexes).tolist())
    may_go_on = options.max_depth >= 1 and not is_trimmed[0]
    shown, parent = [0], [-1]
    waiting = [(row, 2, 0) for row in reversed(starts)] if may_go_on else []
    while waiting:
        row, depth, above = waiting.pop()
        is_cut = is_trimmed[row] or depth > options.max_depth
        if is_cut and view == "code":
            continue
        if may_show[row] and depth <= options.max_depth:
            parent.append(above)
            above = len(shown)
            shown.append(row)
        if not is_cut:
            waiting += [(child, depth + 1, above) for child in reversed(children[row])]
    return np.array(shown, np.int64), np.array(parent, np.int64)


def _children(accounts: Accounts) -> list[list[int]]:
    """The kept nodes below each node."""
    children: list[list[int]] = [[] for _ in accounts.parent]
    kept = np.flatnonzero(accounts.is_kept)[1:]
    for row, parent in zip(kept.tolist(), accounts.parent[kept].tolist(), strict=True):
        children[parent].append(row)
    return children


def _found_below(children: list[list[int]], is_start: list[bool]) -> list[int]:
    """The first starts on every way down from the root."""
    found, waiting = [], children[0][::-1]
    while waiting:
        row = waiting.pop()
        if is_start[row]:
            found.append(row)
        else:
            waiting += reversed(children[row])
    return found


def _sorted_preorder(parent: Int64, key: Figures) -> Int64:
    """The rows down first, siblings by key; those of equal keys stay in order."""
    by_key = np.argsort(key, kind="stable")
    by_key = np.concatenate(([0], by_key[by_key != 0]))  # the root is first whatever its name
    place = np.empty(len(parent) + 1, np.int64)
    place[by_key], place[-1] = np.arange(len(by_key)), -1
    return by_key[preorder(place[parent[by_key]])]
