"""Ops, kernels, layers and source lines of one run -> rows to compare, and how they are named in another run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.trace import Bool, Float64, Int64
from ..base.frame_places import TF_DATA
from ..base.matching import dense_codes
from ..base.table_types import text_column
from ..base.units import PS_PER_MS
from ..facts.facts import Facts
from .name_pairs import Path
from .op_sums import OpSums
from .quantities import Quantities, numbered
from .run_cells import RunCells

_SIDES = np.array(["Host", "Device"], np.object_)
_ITERATOR, _FETCH = "Dataset", "IteratorGetNext"
"""The type of tf.data iterators among the ops, and what those of ops that fetch from them begin with."""


def op_rows(facts: Facts, sums: OpSums) -> Quantities:
    """Framework ops: `type, name, device`."""
    shares = facts.op_shares
    chosen = np.flatnonzero(sums.runs)
    is_device = np.asarray(shares.is_device)[chosen]
    names, types = ([column[i] for i in chosen.tolist()] for column in (shares.name, shares.type))
    labels = pd.DataFrame({"type": text_column(types), "name": text_column(names), "device": _side(is_device)})
    paths = [
        (side, *name.split("/"), f" {kind}") for side, name, kind in zip(labels["device"], names, types, strict=True)
    ]
    return Quantities.of(
        labels,
        numbered(paths),
        sums.self_ms[chosen],
        count=sums.count[chosen],
        seen=sums.seen[chosen].mean(axis=1),
        is_device=is_device,
        is_waiting=np.array([waits_for_input(kind) for kind in types], np.bool_),
    )


def waits_for_input(kind: str) -> bool:
    """Whether most of the own time of ops of this type is waiting for elements."""
    return kind == _ITERATOR or kind.startswith(_FETCH)


def layer_rows(facts: Facts, sums: OpSums) -> Quantities:
    """Layers, loss, optimizer and the rest: `layer, class_name, kind, device`."""
    layers = facts.layers
    n = len(layers.entries)
    group, is_device = _by_side(layers.op_entry, facts, n)
    entries = layers.entries.iloc[np.tile(np.arange(n), 2)].reset_index(drop=True)
    labels = entries[["layer", "class_name", "kind"]].assign(device=_side(is_device))
    paths = [
        (side, f"{kind} {class_name}", *layer.split("/"))
        for side, kind, class_name, layer in zip(
            *(labels[key] for key in ("device", "kind", "class_name", "layer")), strict=True
        )
    ]
    is_input = (labels["kind"] == "input").to_numpy(np.bool_)
    return _chosen(labels, paths, sums.by_group(group, 2 * n), is_device, is_waiting=is_input)


def line_rows(facts: Facts, sums: OpSums) -> Quantities:
    """Lines of source code and buckets: `file, line, function, code, bucket, device`."""
    lines = facts.source_lines
    n = len(lines.entries)
    group, is_device = _by_side(lines.op_entry, facts, n)
    entries = lines.entries.iloc[np.tile(np.arange(n), 2)].reset_index(drop=True)
    labels = entries[["file", "line", "function", "code", "bucket"]].assign(device=_side(is_device))
    paths = [
        (side, bucket, file, str(line))
        for side, bucket, file, line in zip(*(labels[key] for key in ("device", "bucket", "file", "line")), strict=True)
    ]
    is_input = (labels["bucket"] == TF_DATA).to_numpy(np.bool_)
    return _chosen(labels, paths, sums.by_group(group, 2 * n), is_device, is_waiting=is_input)


def kernel_rows(facts: Facts, cells: RunCells) -> Quantities:
    """Kernels by name and op, whatever their launch: `name, op_name`."""
    kernels, trace = facts.kernels, facts.trace
    frame = kernels.frame
    code, n = dense_codes(*(pd.factorize(frame[key])[0] for key in ("name", "op_name")))
    row, cell = code[kernels.run_kernel], cells.of_events(kernels.run_event)
    per_cell = cells.sums(row, cell, trace.duration_ps[kernels.run_event] / PS_PER_MS, n)
    runs = cells.sums(row, cell, np.ones(len(row)), n)
    first = np.unique(code, return_index=True)[1]
    labels = frame[["name", "op_name"]].iloc[first].reset_index(drop=True)
    paths = [(*op.split("/"), name) for name, op in zip(labels["name"], labels["op_name"], strict=True)]
    return Quantities.of(
        labels,
        numbered(paths),
        per_cell,
        count=runs @ cells.n_steps / cells.n_steps.sum(),
        seen=(runs > 0).mean(axis=1),
        is_device=np.ones(n, np.bool_),
    )


def pair_lines(a: Quantities, b: Quantities) -> Int64:
    """Pair source lines: unchanged ones first, then moved ones by their text, then edited ones by their place.

    A notebook's cell is another file every time that its text changes, and what is above a line moves it. Each rule pairs
    what is alike in one way only within each run.
    """
    found = np.full(len(a), -1, np.int64)
    rules: tuple[Callable[[pd.Series], tuple[Hashable, ...] | None], ...] = (
        lambda row: (row["file"], row["line"], row["code"], row["bucket"]),
        lambda row: (row["file"], row["code"], row["function"]) if row["code"] else None,
        lambda row: (row["code"], row["function"]) if row["code"] else None,
        lambda row: (row["file"], row["line"]) if not row["bucket"] else None,
    )
    sides = [[row for _, row in one.labels.iterrows()] for one in (a, b)]  # one turn per line that made an op
    for rule in rules:
        taken = set(found[found >= 0].tolist())
        keys: list[dict[Hashable, list[int]]] = [{}, {}]
        for side in (0, 1):
            for i, row in enumerate(sides[side]):
                parts = rule(row)
                if parts is not None and not (found[i] >= 0 if side == 0 else i in taken):
                    keys[side].setdefault((row["device"], *parts), []).append(i)
        for key, rows in keys[0].items():
            others = keys[1].get(key, [])
            if len(rows) == len(others) == 1:
                found[rows[0]] = others[0]
    return found


def _by_side(entry: npt.NDArray[np.integer], facts: Facts, n: int) -> tuple[Int64, Bool]:
    """For each op its entry, those of devices after those of hosts; and for twice the entries whether it is a device's."""
    is_device = np.asarray(facts.op_shares.is_device)
    return np.where(is_device, n, 0) + entry.astype(np.int64), np.arange(2 * n) >= n


def _chosen(
    labels: pd.DataFrame, paths: Sequence[Path], sums: OpSums, is_device: Bool, *, is_waiting: Bool
) -> Quantities:
    """The groups of ops that were executed."""
    chosen = np.flatnonzero(sums.runs)
    return Quantities.of(
        labels.iloc[chosen],
        numbered([paths[i] for i in chosen.tolist()]),
        sums.self_ms[chosen],
        count=sums.count[chosen],
        seen=sums.seen[chosen].mean(axis=1),
        is_device=is_device[chosen],
        is_waiting=is_waiting[chosen],
    )


def typical_cost(rows: Quantities) -> Float64:
    """What each row costs, to tell alike ones apart."""
    return np.asarray(rows.per_cell.mean(axis=1), np.float64)


def _side(is_device: Bool) -> pd.Series:
    return pd.Series(_SIDES[is_device.astype(np.int64)], dtype=object)
