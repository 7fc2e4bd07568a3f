"""What of one run is compared with another -> rows, paired by paths without the numbers of siblings, else in order."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.arrays import Bool, Float64, Int32, Int64, SmallInt
from ..common import PS_PER_MS, dense_codes, text_column
from ..facts import Facts
from ..names import base_name, without_calls
from ..ops.ops import counts_of
from ..places import TF_DATA
from ..steps.categories import STEP_CATEGORIES

MAX_DEPTH = 64
"""Deeper components count as one."""
MAX_SIBLINGS = 200
"""More siblings than this are paired by equal numbers alone: comparing their costs would take too long."""
_NUMBER = re.compile(r"\d+")
_COUNTER = re.compile(r"(?:_\d+)+\Z|(?<=\]):\d+\Z|:\d+\Z")
_FUNCTION = re.compile(r"__(?:inference|forward|backward)_.+?_\d+(?=\Z|_)")

Path = tuple[str, ...]


@lru_cache(maxsize=65536)
def without_counters(component: str) -> tuple[str, tuple[int, ...]]:
    """A component without the numbers that TensorFlow appends, and these: `dense_1_2` is `dense` and `(1, 2)`."""
    numbers: list[str] = []

    def taken(match: re.Match[str]) -> str:
        numbers.extend(_NUMBER.findall(match.group()[match.group().rfind("_") :]))
        return match.group()[: match.group().rfind("_")]

    bare = _FUNCTION.sub(taken, component)
    end = _COUNTER.search(bare)
    if end:
        numbers += _NUMBER.findall(end.group())
        bare = bare[: end.start()]
    return bare, tuple(int(number[:18]) for number in numbers)


@dataclass
class _Node:
    """What begins with one path."""

    children: dict[tuple[str, bool], dict[str, _Node]] = field(default_factory=dict)
    """By the bare component, and whether something ends there, the children by full component."""
    cost: float = 0.0
    row: int = -1

    def add(self, path: Path, row: int, cost: float) -> None:
        """Add a name; `path` is not empty, and none was added before."""
        node = self
        node.cost += cost
        for depth, part in enumerate(path):  # at most MAX_DEPTH turns
            siblings = node.children.setdefault((without_counters(part)[0], depth == len(path) - 1), {})
            node = siblings.setdefault(part, _Node())
            node.cost += cost
        node.row = row


def pair_names(a: Sequence[Path], b: Sequence[Path], cost_a: Float64, cost_b: Float64) -> Int64:
    """Pair the names of two runs; each is in one pair at most."""
    if list(a) == list(b):
        return np.arange(len(a))
    found = np.full(len(a), -1, np.int64)
    waiting = [(_tree(a, cost_a), _tree(b, cost_b))]
    while waiting:  # one turn per pair of nodes
        one, other = waiting.pop()
        if one.row >= 0 and other.row >= 0:
            found[one.row] = other.row
        for key, siblings in one.children.items():
            if key in other.children:
                waiting += _pairs(siblings, other.children[key])
    return found


def _tree(names: Sequence[Path], cost: Float64) -> _Node:
    root = _Node()
    for row, (path, one) in enumerate(zip(names, cost.tolist(), strict=True)):
        if len(path) > MAX_DEPTH:
            path = (*path[: MAX_DEPTH - 1], "/".join(path[MAX_DEPTH - 1 :]))
        root.add(path, row, one)
    return root


def _pairs(a: dict[str, _Node], b: dict[str, _Node]) -> list[tuple[_Node, _Node]]:
    if a.keys() <= b.keys() or b.keys() <= a.keys() or max(len(a), len(b)) > MAX_SIBLINGS:
        return [(a[name], b[name]) for name in a.keys() & b.keys()]
    first, second = (sorted(side, key=lambda name: (without_counters(name)[1], name)) for side in (a, b))
    if len(first) == len(second):
        return [(a[one], b[other]) for one, other in zip(first, second, strict=True)]
    short, long = ([a[name] for name in first], [b[name] for name in second])
    is_swapped = len(short) > len(long)
    if is_swapped:
        short, long = long, short
    chosen = zip(short, (long[j] for j in _alike([n.cost for n in short], [n.cost for n in long])), strict=True)
    return [(y, x) if is_swapped else (x, y) for x, y in chosen]


def _alike(short: list[float], long: list[float]) -> list[int]:
    """Which of the longer list, in order, are most like the shorter one, at most `MAX_SIBLINGS` each; of equals the earliest."""
    spare = len(long) - len(short)
    least = [[0.0] * (spare + 1)]  # least[i][s]: the first i of the short list paired, s of the long one left out
    for i, one in enumerate(short):
        row: list[float] = []
        for s in range(spare + 1):
            paired = least[i][s] + abs(math.log((one + 1e-9) / (long[i + s] + 1e-9)))
            row.append(min(paired, row[-1]) if row else paired)
        least.append(row)
    chosen, s = [0] * len(short), spare
    for i in range(len(short) - 1, -1, -1):
        while s and least[i + 1][s - 1] <= least[i + 1][s]:
            s -= 1
        chosen[i] = i + s
    return chosen


MOST_CELLS = 1_024
"""A longer run is compared by groups of neighbouring steps: their differences tell the noise just as well."""
_MOST_VALUES = 2**23
"""Rows times cells stay below this, so that a trace with very many ops does not fill the memory."""
_FEWEST_CELLS = 64


@dataclass(frozen=True, eq=False, repr=False)
class RunCells:
    """What a run is divided into: one cell per averaged step, fewer for long runs, or the whole capture as one cell."""

    step_cell: Int32
    """For each row of `steps` its cell, -1 where the averages leave it out."""
    n_steps: Int64
    """For each cell how many steps it holds; a single 1 where the whole capture is the cell."""
    has_steps: bool
    """Whether quantities are per step; else they are of the whole capture."""
    event_step: SmallInt
    """For each event its row of `steps`, -1 for none."""

    def __len__(self) -> int:
        return len(self.n_steps)

    def of_events(self, event: npt.NDArray[np.integer]) -> Int64:
        """The cell of each of some events, -1 for what no averaged step holds."""
        return np.zeros(len(event), np.int64) if not self.has_steps else self.of_steps(self.event_step[event])

    def of_steps(self, step: npt.NDArray[np.integer]) -> Int64:
        """The cell of each of some rows of `steps`; also -1 for row -1."""
        if not self.has_steps:
            return np.zeros(len(step), np.int64)
        cell: Int64 = np.append(self.step_cell, np.int32(-1))[step].astype(np.int64)
        return cell

    def sums(
        self, row: npt.NDArray[np.integer], cell: Int64, value: npt.NDArray[np.integer] | Float64 | Bool, n_rows: int
    ) -> Float64:
        """Values summed by row and cell, per step: shape (rows, cells)."""
        counted = cell >= 0
        place = row[counted].astype(np.int64) * len(self) + cell[counted]
        total = np.bincount(place, value[counted], minlength=n_rows * len(self)).reshape(n_rows, len(self))
        return np.asarray(total / self.n_steps, np.float64)


def run_cells(facts: Facts, *, by_step: bool = True, n_rows: int = 1) -> RunCells:
    """Divide a run by its steps of `Overview.is_averaged`."""
    averaged, event_step = facts.is_averaged, facts.steps.event_step
    n_averaged = int(averaged.sum())
    if not by_step or not n_averaged:
        return RunCells(np.full(len(averaged), -1, np.int32), np.ones(1, np.int64), False, event_step)
    most = min(MOST_CELLS, max(_FEWEST_CELLS, _MOST_VALUES // max(n_rows, 1)))
    per_cell = -(-n_averaged // most)
    step_cell = np.full(len(averaged), -1, np.int32)
    step_cell[averaged] = np.arange(n_averaged) // per_cell
    return RunCells(step_cell, np.bincount(step_cell[averaged]).astype(np.int64), True, event_step)


@dataclass(frozen=True, eq=False, repr=False)
class OpSums:
    """One entry per framework op, in the order of `OpShares`."""

    self_ms: Float64
    """Self time in each cell per step, shape (ops, cells)."""
    seen: Bool
    """Whether it occurs in a cell; of the same shape."""
    count: Float64
    """Executions per step, over all cells."""
    runs: Bool
    """Whether it was executed at all in the capture."""

    def by_group(self, group: npt.NDArray[np.integer], n_groups: int) -> OpSums:
        """The sums of groups of ops, such as layers; -1 is no group."""
        rows = np.flatnonzero(group >= 0)
        order = rows[np.argsort(group[rows], kind="stable")]
        groups, first = np.unique(group[order], return_index=True)
        n_cells = self.self_ms.shape[1]
        total, seen = np.zeros((n_groups, n_cells)), np.zeros((n_groups, n_cells), np.bool_)
        if len(groups):
            total[groups] = np.add.reduceat(self.self_ms[order], first, axis=0)
            seen[groups] = np.logical_or.reduceat(self.seen[order], first, axis=0)
        count = np.bincount(group[rows], self.count[rows], minlength=n_groups)
        runs = np.bincount(group[rows], self.runs[rows], minlength=n_groups) > 0
        return OpSums(total, seen, np.asarray(count, np.float64), runs)


def op_sums(facts: Facts, cells: RunCells) -> OpSums:
    """Sum the executions of each framework op by the cell of the step that launched them, or without marks ran at their start."""
    occurrences, shares = facts.occurrences, facts.op_shares
    n_units = len(occurrences.name)
    cell = cells.of_events(occurrences.event)
    unit_ms = cells.sums(occurrences.op, cell, occurrences.self_ps / PS_PER_MS, n_units)
    unit_seen = np.zeros((n_units, len(cells)), np.bool_)
    counted = cell >= 0
    unit_seen[occurrences.op[counted], cell[counted]] = True
    unit_count = counts_of(replace(occurrences, is_counted=counted)) / cells.n_steps.sum()
    unit_runs = np.bincount(occurrences.op, minlength=n_units) > 0
    return OpSums(
        np.asarray(shares.spread(unit_ms)),
        shares.largest(unit_seen),
        shares.largest(unit_count),  # as often as the most frequent of its HLO ops
        shares.largest(unit_runs),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Quantities:
    """Rows of one kind (ops, layers, ...); all fields have one entry per row."""

    labels: pd.DataFrame
    """What a reader sees of each row beside its numbers."""
    paths: Sequence[Path]
    """The name of each, all different, for pairing with those of the other run."""
    per_cell: Float64
    """The value in each cell per step, shape (rows, cells): ms, bytes or counts."""
    count: Float64
    """Executions per step; 0 where nothing is counted."""
    seen: Float64
    """In which share of the cells it occurs, [0, 1]; 0 for what only occurs in steps that the averages leave out."""
    is_device: Bool
    is_waiting: Bool
    """Whether it waits for others rather than works: it fills what they leave, and differs as much as they do."""

    def __len__(self) -> int:
        return len(self.paths)

    @classmethod
    def of(
        cls,
        labels: pd.DataFrame,
        paths: Sequence[Path],
        per_cell: Float64,
        *,
        count: Float64 | None = None,
        seen: Float64 | None = None,
        is_device: Bool | None = None,
        is_waiting: Bool | None = None,
    ) -> Quantities:
        """Rows, with what is not given as if it were of no interest."""
        n = len(paths)
        return cls(
            labels=labels.reset_index(drop=True),
            paths=paths,
            per_cell=per_cell,
            count=np.zeros(n) if count is None else count,
            seen=(per_cell != 0).mean(axis=1) if seen is None else seen,
            is_device=np.zeros(n, np.bool_) if is_device is None else is_device,
            is_waiting=np.zeros(n, np.bool_) if is_waiting is None else is_waiting,
        )


def pair_rows(a: Quantities, b: Quantities) -> Int64:
    """For each row of `a` the row of `b` of its name, -1 for none; what it costs tells alike ones apart."""
    return pair_names(a.paths, b.paths, a.per_cell.mean(axis=1), b.per_cell.mean(axis=1))


def numbered(paths: Sequence[Path]) -> list[Path]:
    """Paths of which the second and later ones of a name bear a number, so that all differ."""
    seen: dict[Path, int] = {}
    found = []
    for path in paths:
        seen[path] = seen.get(path, 0) + 1
        found.append((*path, f"#{seen[path]}") if seen[path] > 1 else path)
    return found


_SIDES = np.array(["Host", "Device"], np.object_)
_ITERATOR, _FETCH = "Dataset", "IteratorGetNext"
"""The type of tf.data iterators among the ops, and what those of ops that fetch from them begin with."""
_STAGE = "Iterator::"
"""With it the names of tf.data's stages begin, among iterators and among ops."""
_WAITING = ("input", "dispatch", "sync", "other", "output")
"""Categories in which a step waits: for data, or for nobody knows what."""
PEAK = "peak_bytes"
SCATTER = 0.13
"""How much bytes of one program differ between runs (standard deviation, as a part), measured on CPUs."""
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
    """Each allocator three times (`allocator, metric, unit`), of the typical step; without steps of the capture."""
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
    """Pair rows by their names, then tf.data's stages by what they are, as each name holds those of the stages above it."""
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
    """Pair source lines unique in their runs: unchanged ones, then moved ones by text, then edited ones by their place."""
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
