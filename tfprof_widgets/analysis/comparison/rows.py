"""What of one run is compared with another: ops, layers, lines, kernels, iterators, step time and memory -> rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from difflib import SequenceMatcher

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.trace import Bool, Int64
from ..base.frame_places import TF_DATA
from ..base.framework_names import without_calls
from ..base.iterator_names import base_name
from ..base.matching import dense_codes
from ..base.table_types import text_column
from ..base.units import PS_PER_MS
from ..facts.facts import Facts
from ..steps.categories import STEP_CATEGORIES
from .name_pairs import MAX_SIBLINGS, Path
from .op_sums import OpSums
from .quantities import Quantities, numbered, pair_rows
from .run_cells import RunCells

_SIDES = np.array(["Host", "Device"], np.object_)
_ITERATOR, _FETCH = "Dataset", "IteratorGetNext"
"""The type of tf.data iterators among the ops, and what those of ops that fetch from them begin with."""
_STAGE = "Iterator::"
"""With it the names of tf.data's stages begin, among iterators and among ops."""
_WAITING = ("input", "dispatch", "sync", "other", "output")
"""Categories in which a step waits: for data, or for nobody knows what."""
PEAK = "peak_bytes"
SCATTER = 0.13
"""How much bytes of one program differ between runs (standard deviation, as a part), however alike its steps are: as ops run
in another order, other buffers are in use at once or can be taken over. Measured on CPUs."""
_METRICS = {PEAK: "bytes", "allocated_bytes": "bytes a step", "n_allocations": "allocations a step"}


def op_rows(facts: Facts, sums: OpSums) -> Quantities:
    """Framework ops: `type, name, device`."""
    shares = facts.op_shares
    labels = pd.DataFrame({"type": text_column(shares.type), "name": text_column(shares.name)})
    is_waiting = np.array([waits_for_input(kind) for kind in shares.type], np.bool_)
    return _executed(sums, labels, _path_of_op, np.asarray(shares.is_device), is_waiting)


def _path_of_op(kind: str, name: str) -> Path:
    # one program calls a function where the other runs its ops, or compiles it
    return (*without_calls(name).split("/"), f" {kind}")


def waits_for_input(kind: str) -> bool:
    """Whether most of the own time of ops of this type is waiting for elements."""
    return kind == _ITERATOR or kind.startswith(_FETCH)


def layer_rows(facts: Facts, sums: OpSums) -> Quantities:
    """Layers, loss, optimizer and the rest: `layer, class_name, kind, device`."""
    layers = facts.layers
    labels = layers.entries[["layer", "class_name", "kind"]]
    return _by_side(facts, sums, layers.op_entry, labels, _path_of_layer, labels["kind"] == "input")


def _path_of_layer(layer: str, _class_name: str, kind: str) -> Path:
    # not by its class, which only runs know that noted their layers
    return (kind, *layer.split("/"))


def line_rows(facts: Facts, sums: OpSums) -> Quantities:
    """Lines of source code and buckets: `file, line, function, code, bucket, device`."""
    lines = facts.source_lines
    labels = lines.entries[["file", "line", "function", "code", "bucket"]]
    return _by_side(facts, sums, lines.op_entry, labels, _path_of_line, labels["bucket"] == TF_DATA)


def _path_of_line(file: str, line: int, _function: str, _code: str, bucket: str) -> Path:
    return (bucket, file, str(line))


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
    paths = [(*without_calls(op).split("/"), name) for name, op in zip(labels["name"], labels["op_name"], strict=True)]
    return Quantities.of(
        labels,
        numbered(paths),
        per_cell,
        count=runs @ cells.n_steps / cells.n_steps.sum(),
        seen=(runs > 0).mean(axis=1),
        is_device=np.ones(n, np.bool_),
    )


def _by_side(
    facts: Facts,
    sums: OpSums,
    entry: npt.NDArray[np.integer],
    labels: pd.DataFrame,
    path_of: Callable[..., Path],
    is_waiting: pd.Series,
) -> Quantities:
    """What ops are charged to, by the `entry` of each op: what hosts did of all entries, then what devices did."""
    n = len(labels)
    group = np.where(facts.op_shares.is_device, n, 0) + entry.astype(np.int64)
    twice = np.tile(np.arange(n), 2)
    waits = is_waiting.to_numpy(np.bool_)[twice]
    return _executed(sums.by_group(group, 2 * n), labels.iloc[twice], path_of, np.arange(2 * n) >= n, waits)


def _executed(
    sums: OpSums, labels: pd.DataFrame, path_of: Callable[..., Path], is_device: Bool, is_waiting: Bool
) -> Quantities:
    """Ops, or groups of ops, that were executed: their labels and the side; a path is the side and that of the labels."""
    chosen = np.flatnonzero(sums.runs)
    labels = labels.iloc[chosen].reset_index(drop=True).assign(device=_side(is_device[chosen]))
    paths = [(side, *path_of(*row)) for *row, side in labels.itertuples(index=False, name=None)]
    return Quantities.of(
        labels,
        numbered(paths),
        sums.self_ms[chosen],
        count=sums.count[chosen],
        seen=sums.seen[chosen].mean(axis=1),
        is_device=is_device[chosen],
        is_waiting=is_waiting[chosen],
    )


def _side(is_device: Bool) -> pd.Series:
    return pd.Series(_SIDES[is_device.astype(np.int64)], dtype=object)


def iterator_rows(facts: Facts, cells: RunCells) -> Quantities:
    """Iterators by their place in the pipeline: `name, long_name`; own time, without that of the calls they waited for."""
    tf_data = facts.tf_data
    frame, calls, n = tf_data.iterators, tf_data.calls, len(tf_data.iterators)
    row, cell = calls["iterator"].to_numpy(np.int64), cells.of_events(calls["event"].to_numpy(np.int64))
    runs = cells.sums(row, cell, np.ones(len(row)), n)
    is_root = frame["parent_id"].to_numpy(np.int64) < 0
    return Quantities.of(
        frame[["name", "long_name"]],
        numbered([tuple(name.split("::")) for name in frame["long_name"]]),
        cells.sums(row, cell, calls["self_ps"].to_numpy(np.int64) / PS_PER_MS, n),
        count=runs @ cells.n_steps / cells.n_steps.sum(),
        seen=(runs > 0).mean(axis=1),
        is_waiting=is_root | frame["is_async"].to_numpy(np.bool_),
    )


def category_rows(facts: Facts, cells: RunCells) -> Quantities:
    """What the step time is made of: `category`. No rows without steps."""
    labels = pd.DataFrame({"category": pd.Series(STEP_CATEGORIES, dtype=object)})
    if not cells.has_steps:
        return Quantities.of(labels[:0], [], np.zeros((0, len(cells))))
    ms = facts.steps.frame[[f"{name}_ms" for name in STEP_CATEGORIES]].to_numpy(np.float64)
    step, category = np.indices(ms.shape).reshape(2, -1)
    return Quantities.of(
        labels,
        [(name,) for name in STEP_CATEGORIES],
        cells.sums(category, cells.of_steps(step), ms.reshape(-1), len(STEP_CATEGORIES)),
        seen=np.ones(len(labels)),
        is_device=np.array([name.startswith("device_") for name in STEP_CATEGORIES], np.bool_),
        is_waiting=np.array([name in _WAITING for name in STEP_CATEGORIES], np.bool_),
    )


def memory_rows(facts: Facts, cells: RunCells) -> Quantities:
    """Each allocator three times: `allocator, metric, unit`.

    `peak_bytes` is the most in use during a step (typical over steps), the others are per step. Without steps they are
    those of the whole capture.
    """
    memory = facts.memory
    rows: list[tuple[str, str, str]] = []
    values, seen = [], []
    for allocator in memory.allocators:  # one turn per allocator
        by_step = memory.steps(allocator) if cells.has_steps else _whole(facts, allocator)
        cell = cells.of_steps(by_step["step"].to_numpy(np.int64))
        for metric, unit in _METRICS.items():
            rows.append((allocator, metric, unit if cells.has_steps else unit.removesuffix(" a step")))
            values.append(cells.sums(np.zeros(len(cell), np.int64), cell, by_step[metric].to_numpy(np.float64), 1)[0])
            seen.append(float(len(np.unique(cell[cell >= 0])) / len(cells)))
    labels = pd.DataFrame(rows, columns=["allocator", "metric", "unit"]).astype(object)
    return Quantities.of(
        labels,
        [row[:2] for row in rows],
        np.stack(values) if values else np.zeros((0, len(cells))),
        seen=np.array(seen, np.float64),
    )


def _whole(facts: Facts, allocator: str) -> pd.DataFrame:
    """The columns of `MemoryProfile.steps` that are compared, of the whole capture as one step."""
    timeline, summary = facts.memory.timeline(allocator), facts.memory.summary
    made = timeline[timeline["event"] == "allocation"]
    peak = summary.loc[summary["allocator"] == allocator, "peak_bytes"].iloc[0]
    allocated = made["allocation_bytes"].sum()
    return pd.DataFrame([{"step": 0, PEAK: peak, "allocated_bytes": allocated, "n_allocations": len(made)}])


def pair_stages(a: Quantities, b: Quantities, names: str) -> Int64:
    """Pair rows by their names, then what is left of tf.data's stages by what they are, in order: a stage that only one run has
    is in the name of each below it.

    Args:
        a: the rows of one run.
        b: those of the other.
        names: the column of labels with their names.
    """
    found = pair_rows(a, b)
    left = (found < 0, ~np.isin(np.arange(len(b)), found))
    stages, kinds = [], []
    for side, is_left in zip((a, b), left, strict=True):
        name = side.labels[names][is_left]
        name = name[name.str.startswith(_STAGE)].sort_values()
        stages.append(name.index.to_numpy(np.int64))
        kinds.append([base_name(one.rpartition("::")[2]) for one in name])
    if max(map(len, kinds)) <= MAX_SIBLINGS:  # comparing more would take too long
        for i, j, n in SequenceMatcher(a=kinds[0], b=kinds[1], autojunk=False).get_matching_blocks():
            found[stages[0][i : i + n]] = stages[1][j : j + n]
    return found


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
