"""Framework ops -> the tree of name scopes with the time spent in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64, Int32
from ..base.table_types import table_of_arrays, text_column
from ..base.wording import plural
from ..columns.registry import TABLES
from ..ops.op_totals import OpTotals
from .op_scopes import OpScopes

MAX_DEPTH = 1_000
"""How deeply scopes may be nested."""
MAX_PATH_CHARS = 32 * 2**20
"""How long all paths together may be: hostile names would fill the memory with the beginnings of themselves."""
SCOPE_COLUMNS = TABLES["scopes"].names


@dataclass(frozen=True, eq=False, repr=False)
class Scopes:
    """The name scopes of a trace as one tree, whose root "" holds everything."""

    frame: pd.DataFrame
    """One row per side and scope that has time or ops there, `SCOPE_COLUMNS`, devices first, a scope after its parent.

    `total_time_us` is the self time of all ops in the scope and below, `self_time_us` of those directly in it, and
    `backward_time_us` the part of `total_time_us` that gradients take: a gradient op belongs to the scope of the op it is the
    gradient of, so that a layer is one node of the tree. `total_time_ratio` is of the side's total, which is the root's:
    the self times of all scopes add up to it. `n_ops` and `occurrences` count the ops in the scope and below. `parent` is
    the parent's scope, "" for a child of the root and for the root itself, whose `depth` is 0.
    """
    entries: pd.DataFrame
    """One row per scope, after its parent: `scope` (path, "" for the root), `name` (its last component), `parent` (row, -1 for
    the root), `depth`."""
    op_entry: Int32
    """For each op its innermost scope, a row of `entries`."""
    n_folded_ops: int
    """How many ops are charged to a scope around their own, which is beyond `MAX_DEPTH` or `MAX_PATH_CHARS`."""

    def __repr__(self) -> str:
        return f"Scopes({plural(len(self.entries) - 1, 'name scope')})"


def compute_scopes(scopes: OpScopes, totals: OpTotals) -> Scopes:
    """Build the tree of scopes, without what function calls, loops and graph rewriting add to names (see `op_scopes`).

    Args:
        scopes: the framework ops; one named `a/b/MatMul` is in the scope `a/b`, one without scope in the root, and what tf.data
            runs below `tf.data`.
        totals: their time and executions.
    """
    tree, entry = _Tree.of(scopes.scopes)
    entries, op_entry = tree.entries(), entry[scopes.scope_id]
    depth = np.fromiter(map(len, scopes.scopes), np.int64, len(entry))
    n_folded = int((entries["depth"].to_numpy()[entry] < depth)[scopes.scope_id].sum())
    return Scopes(_frame(entries, op_entry, scopes.is_backward, totals), entries, op_entry, n_folded)


@dataclass
class _Tree:
    """Scopes by number, each after its parent; number 0 is the root."""

    name: list[str]
    parent: list[int]
    scope: list[str]
    n_chars: int = 0

    @classmethod
    def of(cls, scopes: Sequence[tuple[str, ...]]) -> tuple[_Tree, Int32]:
        """The tree of some scopes, and the number of each."""
        tree = cls([""], [-1], [""])
        child: dict[tuple[int, str], int] = {}
        entry = [tree._add(scope[:MAX_DEPTH], child) for scope in scopes]
        return tree, np.array(entry, np.int32)

    def _add(self, scope: tuple[str, ...], child: dict[tuple[int, str], int]) -> int:
        at = 0
        for part in scope:
            inner = child.get((at, part))
            if inner is None:
                path = f"{self.scope[at]}/{part}" if at else part
                if self.n_chars + len(path) > MAX_PATH_CHARS:
                    return at
                self.n_chars += len(path)
                inner = child[at, part] = len(self.name)
                self.name.append(part)
                self.parent.append(at)
                self.scope.append(path)
            at = inner
        return at

    def entries(self) -> pd.DataFrame:
        """The `entries` table."""
        depth = np.zeros(len(self.name), np.int32)
        for i, parent in enumerate(self.parent[1:], 1):  # parents come first; one turn per scope
            depth[i] = depth[parent] + 1
        return table_of_arrays(
            {
                "scope": np.array(self.scope, np.object_),
                "name": np.array(self.name, np.object_),
                "parent": np.array(self.parent, np.int32),
                "depth": depth,
            }
        )


def _frame(entries: pd.DataFrame, op_entry: Int32, is_backward: Bool, totals: OpTotals) -> pd.DataFrame:
    rows, figures = [], []
    parent, depth = entries["parent"].to_numpy(np.int32), entries["depth"].to_numpy(np.int32)
    for chosen in (totals.is_device, ~totals.is_device):
        own = totals.self_us[chosen]
        columns = [own, np.where(is_backward[chosen], own, 0.0), np.ones(len(own)), totals.occurrences[chosen]]
        counts = [np.bincount(op_entry[chosen], c, minlength=len(entries)) for c in columns]
        direct: Float64 = np.stack(counts).astype(np.float64)
        total = _with_descendants(direct, parent, depth)
        ratio = total[0] / total[0, 0] if total[0, 0] > 0 else np.zeros(len(entries))
        rows.append(np.flatnonzero(total[2] > 0))
        figures.append(np.stack([total[0], direct[0], total[1], ratio, total[2], total[3]])[:, rows[-1]])
    row, figure = np.concatenate(rows), np.concatenate(figures, axis=1)
    scope = entries["scope"].to_numpy()
    found = {
        "device": np.repeat(["Device", "Host"], [len(one) for one in rows]),
        "scope": text_column(scope[row]),
        "name": text_column(entries["name"].to_numpy()[row]),
        "parent": pd.Series(scope[np.maximum(parent, 0)[row]], dtype=str),
        "depth": depth[row],
        "total_time_us": figure[0],
        "self_time_us": figure[1],
        "backward_time_us": figure[2],
        "total_time_ratio": figure[3],
        "n_ops": figure[4].astype(np.int64),
        "occurrences": figure[5].astype(np.int64),
    }
    return pd.DataFrame({name: found[name] for name in SCOPE_COLUMNS})


def _with_descendants(direct: Float64, parent: Int32, depth: Int32) -> Float64:
    """Sums over each node and all below it; `direct` is of shape (columns, nodes)."""
    total = direct.copy()
    order = np.argsort(depth, kind="stable")
    begin = np.searchsorted(depth[order], np.arange(int(depth.max()) + 2))
    for level in range(int(depth.max()), 0, -1):  # at most MAX_DEPTH turns
        rows = order[begin[level] : begin[level + 1]]
        for column in total:
            np.add.at(column, parent[rows], column[rows])
    return total
