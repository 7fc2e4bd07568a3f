"""Ops -> time and memory of each Keras layer: forward, backward and optimizer apart."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Int32, UInt8
from ...trace.source_map import SourceMap
from ..common import dense_codes, first_of, plural, table_of_arrays
from ..grouping import N_UNITS, unit_ratios
from ..memory.memory import MemoryProfile, OpMemory, memory_by_op
from ..memory.moments import BEFORE_CAPTURE, STACK
from ..ops.executions import EAGER_SCOPE
from ..ops.ops import OpSums, side_table
from ..ops.shares import OpShares
from ..places import BUCKET_OF_TYPE, COPIES, GRADIENT_SUMS, KERAS, PROGRAM_ENDS, FrameTable, UserFiles, frame_places
from ..table import table
from .scopes import (
    AMBIGUOUS,
    DATA_SCOPE,
    FUNCTIONS,
    LOSSES,
    METRICS,
    OPS,
    TWINS,
    VENDOR,
    OpScopes,
    numbered_scopes,
    op_scopes,
    without_number,
)

LAYERS = table(
    """
    layers: a Keras layer, or what is in none, by side, most self time first
        device             text   the side it ran on, `Device` or `Host`
        layer              text   its path in the model, or what the row stands for
        class_name         text   the layer's class, empty where it is not known
        kind               text   `layer`, `loss`, `metrics`, `optimizer`, `input` or `other`
        forward_time_us    float  self time of its ops in the forward pass
        backward_time_us   float  the part that gradients take
        optimizer_time_us  float  the part that updates its variables
        other_time_us      float  the rest
        *costs
        *units
        allocated_bytes    int    allocated during the capture, on devices where any tells; on its first row only
        peak_bytes         int    in use at the peak of the device's allocator, else the fullest; on its first row only

    Times are self times of the ops of a layer, in microseconds over the whole capture; gradients count as its
    backward time. Loss, optimizer, input and what belongs to no layer have rows of their own, so that the rows of a
    side add up to all ops of it. Empty where no op ran.
    """,
    browser="""
    layer class_name kind allocated_bytes|null peak_bytes|null +step_bytes:float?|null +n_params:int?|null +allocating:texts?
    """,
    of_facts=lambda facts: compute_layers(
        facts.op_scopes,
        facts.op_sums,
        shares=facts.op_shares,
        source_map=facts.source_map,
        memory=facts.memory_by_op,
    ),
    file="layers",
    read="layers.frame",
)

UNATTRIBUTED = "not in a layer"
"""The entry of ops that no layer, loss, metric, optimizer or input pipeline made, as far as their names tell."""


MAX_KNOWN_DEPTH = 1_000
MAX_DEPTH = 100
"""Known layers, and layers found from scopes, are not looked for deeper than this."""
_PARTS = (COPIES, PROGRAM_ENDS, GRADIENT_SUMS, KERAS)
ROLES = ("", "optimizer", "metrics", "loss", *_PARTS)
"""What a traceback or type may say that an op is for, as entries are named; those of `_PARTS` are no kinds of entries."""
ANY_OPTIMIZER = "optimizer"
"""The entry of ops of an optimizer whose name they do not tell."""
_Entry = tuple[str, str, str]


@dataclass(frozen=True, eq=False, repr=False)
class Places:
    """Entry of each op, a row of the other fields; the last entry is `UNATTRIBUTED`."""

    entry: Int32
    layer: tuple[str, ...]
    class_name: tuple[str, ...]
    kind: tuple[str, ...]
    """`layer`, `loss`, `metrics`, `optimizer`, `input` or `other`."""


@dataclass(frozen=True)
class KnownLayers:
    """The layers of the models that were alive when the capture ended."""

    class_of: dict[str, str]
    """Class of each layer by its path of names, such as `model/block/dense`."""
    path_of: dict[str, str]
    """By a layer's own name the first of its paths."""
    optimizers: dict[str, str]

    @classmethod
    def read(cls, layers: pd.DataFrame) -> KnownLayers:
        """From the `layers` table of a source map (`layer, name, class_name, model`); `layer` "" is the model's optimizer."""
        class_of: dict[str, str] = {}
        path_of: dict[str, str] = {}
        optimizers: dict[str, str] = {}
        for path, name, class_name in zip(layers["layer"], layers["name"], layers["class_name"], strict=True):
            if not path:
                optimizers.setdefault(name, class_name)
                continue
            class_of.setdefault(path, class_name)
            path_of.setdefault(name, path)
        return cls(class_of, path_of, optimizers)

    def find(self, scope: tuple[str, ...]) -> tuple[str, str]:
        """The path and class of the innermost layer whose scope this is or lies in, "" for none; without a number at the end."""
        called = path = around = ""
        if not self.class_of:
            return "", ""
        for part in scope[:MAX_KNOWN_DEPTH]:
            bare = without_number(part)
            inner = [f"{path}/{name}" if path else name for name in (bare, part)]
            if inner[0] in self.class_of or inner[1] in self.class_of:
                path = inner[0] if inner[0] in self.class_of else inner[1]
                called = f"{called}/{path.rpartition('/')[2]}" if called else path
            elif bare != part and bare in self.path_of and bare not in AMBIGUOUS and bare != around:
                path = self.path_of[bare]  # called where it is no part
                called = f"{called}/{bare}" if called else bare
            around = bare
        return called, self.class_of[path] if called else ""


def find_layers(scopes: OpScopes, known: KnownLayers, *, roles: UInt8 | None = None) -> Places:
    """Attribute each op to exactly one entry: input, optimizer or the innermost known layer, else a scope of the trace."""
    inferred = _Inference(scopes)
    number: dict[_Entry, int] = {}
    of_role = roles if roles is not None else np.zeros(len(scopes), np.uint8)
    kind, n_kinds = dense_codes(
        scopes.scope_id, scopes.is_optimizer.astype(np.uint8), scopes.is_input.astype(np.uint8), of_role
    )
    first = np.sort(first_of(kind, n_kinds))
    columns = (scopes.scope_id, of_role, scopes.is_optimizer, scopes.is_input)
    entries = []
    for scope, of, *flags in zip(*(column[first].tolist() for column in columns), strict=True):  # one turn per scope
        role, found = ROLES[of], _entry(scopes.scopes[scope], known, inferred, *flags)
        if role and found[2] == "other":
            found = (role, "", "other" if role in _PARTS else role)
        entries.append(number.setdefault(found, len(number)))
    entry_of = np.zeros(n_kinds, np.int32)
    entry_of[kind[first]] = entries
    return _ordered(entry_of[kind], _with_one_optimizer(tuple(number)))


def _with_one_optimizer(found: tuple[_Entry, ...]) -> tuple[_Entry, ...]:
    named = [row for row in found if row[2] == "optimizer" and row[0] != ANY_OPTIMIZER]
    if len(named) != 1:
        return found
    return tuple(named[0] if row[0] == ANY_OPTIMIZER and row[2] == "optimizer" else row for row in found)


def _ordered(entry: Int32, found: tuple[_Entry, ...]) -> Places:
    """Put `UNATTRIBUTED` last, present or not."""
    last = (UNATTRIBUTED, "", "other")
    rows = [*dict.fromkeys(row for row in found if row != last), last]
    place = {row: i for i, row in enumerate(rows)}
    renumber = np.array([place[row] for row in found], np.int32)
    columns = zip(*rows, strict=True)
    layer, class_name, kind = (tuple(column) for column in columns)
    return Places(renumber[entry] if len(found) else entry, layer, class_name, kind)


def _entry(
    scope: tuple[str, ...], known: KnownLayers, inferred: _Inference, is_optimizer: bool, is_input: bool, /
) -> _Entry:
    """Name, class and kind of the entry of a scope."""
    if is_input:
        return DATA_SCOPE, "", "input"
    if is_optimizer:
        name = next((part for part in scope if without_number(part) not in FUNCTIONS), ANY_OPTIMIZER)
        name = name if name in known.optimizers else without_number(name)
        return name, known.optimizers.get(name, ""), "optimizer"
    root = without_number(scope[0]) if scope else ""
    if (root in LOSSES or root in METRICS) and root not in known.path_of:
        kind = "metrics" if root in METRICS else "loss"
        return "/".join(inferred.outer(scope)) or root, "", kind
    called, class_name = known.find(scope)
    if called:
        return called, class_name, "layer"
    if scope == (EAGER_SCOPE.rstrip("/"),):  # our own name for ops that have none
        return UNATTRIBUTED, "", "other"
    layer = inferred.outer(scope)
    return ("/".join(layer), "", "layer") if layer else (UNATTRIBUTED, "", "other")


class _Inference:
    """Which scopes are no op and no function of TensorFlow's own."""

    def __init__(self, scopes: OpScopes) -> None:
        self._types = OPS | {VENDOR.sub("", kind, count=1) for kind in frozenset(scopes.type)}
        forward = np.flatnonzero(~scopes.is_backward)
        self._leaves = frozenset(scopes.leaf)
        self._ops: dict[tuple[str, ...], set[str]] = {}
        """The ops of each scope but those that compute gradients."""
        for scope, row in zip(scopes.scope_id[forward].tolist(), forward.tolist(), strict=True):
            self._ops.setdefault(scopes.scopes[scope], set()).add(scopes.leaf[row])

    def outer(self, scope: tuple[str, ...]) -> tuple[str, ...]:
        """The outer components, up to the first that is an op or opened by one of TensorFlow's functions."""
        for n, part in enumerate(scope[:MAX_DEPTH]):
            bare = without_number(part)
            is_op = bare in self._types or (part in self._leaves and part in self._ops.get(scope[:n], ()))
            is_twin = bare in TWINS and n > 0 and without_number(scope[n - 1]) == bare
            if is_op or is_twin or bare in FUNCTIONS:
                return scope[:n]
        return scope[:MAX_DEPTH]


Scope = tuple[str, ...]

_HARDLY_RUN = ("Const", "Identity", "NoOp")
_NO_STAND_IN = ("Const", "NoOp", "ReadVariableOp")
"""Half of a graph's ops, which have no gradient and say little of the scope that they are in."""
_ADDED = re.compile(r"(/_\d+)+$|-\d+-.*LayoutOptimizer$|-(folded|reduction)(-\d+)?$|__cf__\d+$")
"""What graph rewriting and partitioning put behind a name."""
_MAX_ADDED = 200
_MAX_DEPTH = 100
"""How much of a name's end is searched for that, and how many calls and scopes a name may begin with."""
_GRADIENT_TYPE = re.compile(r"^_*(?:Mkl)?(?:Native)?(\w+?)(?:Grad(?:Grad)?(?:WithBias)?(V\d)?|Backprop\w*)$")


class GraphIndex:
    """The ops of the graphs of a source map, by name and by scope."""

    def __init__(self, source_map: SourceMap) -> None:
        ops = source_map.ops
        self.graph: list[int] = ops["graph"].tolist()
        self.name: list[str] = ops["op"].tolist()
        self.type: list[str] = ops["type"].tolist()
        self._frame: list[int] = ops["frame"].tolist()
        self._by_name: dict[str, list[int]] = {}
        for row, name in enumerate(self.name):
            self._by_name.setdefault(name, []).append(row)
        self._n_ran = Counter(
            graph for graph, kind in zip(self.graph, self.type, strict=True) if kind not in _HARDLY_RUN
        )
        self.scope: dict[int, Scope] = {}
        """Scope of the ops of graphs that ran, but for those that stand for no scope; of a gradient op that of the forward op."""
        self.backward: set[int] = set()
        """Those of them that compute gradients by their names."""
        self._normal: dict[tuple[Scope, str, bool], list[int]] = {}
        self._in_scope: dict[Scope, list[int]] = {}
        self._gradients: dict[Scope, list[int]] = {}
        self._stand_in: dict[Scope, list[int]] = {}

    def add_scopes(self, graphs: set[int]) -> None:
        """Put the ops of some graphs into the tables by scope: those that ran, as most graphs only make variables."""
        pairs = enumerate(zip(self.graph, self.type, strict=True))
        rows = [row for row, (graph, kind) in pairs if (not graphs or graph in graphs) and kind not in _NO_STAND_IN]
        scopes = op_scopes([self.name[row] for row in rows], [self.type[row] for row in rows])
        for row, scope, leaf, is_backward in zip(
            rows, scopes.scope, scopes.leaf, scopes.is_backward.tolist(), strict=True
        ):
            self._normal.setdefault((scope, leaf, is_backward), []).append(row)
            self.scope[row] = scope
            if is_backward:
                self.backward.add(row)
                self._gradients.setdefault(scope, []).append(row)
            else:
                self._in_scope.setdefault(scope, []).append(row)

    def find(self, name: str) -> tuple[str, list[int]]:
        """The prefix and the rows of the longest end of a name that is a graph op."""
        bare = name[:-_MAX_ADDED] + _ADDED.sub("", name[-_MAX_ADDED:])
        at = 0
        for _ in range(_MAX_DEPTH):
            for end in (name[at:], bare[at:]):
                rows = self._by_name.get(end)
                if rows:
                    return name[:at], rows
            slash = bare.find("/", at)
            if slash < 0:
                break
            at = slash + 1
        return "", []

    def find_normal(self, scopes: OpScopes, i: int) -> tuple[list[int], bool]:
        """The rows of the name without calls, loops and rewriting, else of the scope; and whether they are the op itself."""
        scope, leaf, is_backward = scopes.scope[i], scopes.leaf[i], bool(scopes.is_backward[i])
        for known in (leaf, *rewritten(leaf)):
            if rows := self._normal.get((scope, known, is_backward)):
                return rows, known == leaf
        return self._around(scope), False

    def merit(self, row: int, kind: str, prefix: str, ran: Counter[tuple[str, int]]) -> tuple[bool, float, int]:
        """How good a row is; greater is better."""
        graph = self.graph[row]
        share = ran[prefix, graph] / max(1, self._n_ran[graph])
        return self.type[row] == kind, min(share, 1.0), row

    def under_gradients(self, frames: pd.DataFrame) -> list[int]:
        """The ops, of the graphs that ran, that a tape made besides those that compute gradients by their names."""
        at = {(self.graph[row], self._frame[row]) for row in self.backward if self._frame[row] >= 0}
        parent = frames["parent"].tolist()
        known: dict[tuple[int, int], bool] = {}
        found = []
        for row in self.scope:
            if row in self.backward:
                continue
            key = graph, frame = self.graph[row], self._frame[row]
            if key not in known:
                while 0 <= frame < len(parent) and (graph, frame) not in at:
                    frame = parent[frame]  # an earlier row
                known[key] = (graph, frame) in at
            if known[key]:
                found.append(row)
        return found

    def reads(self, row: int) -> list[int]:
        """The forward ops whose gradient an op computes by its name: the very one, or those of its scope; [] for no scope."""
        scope, graph = self.scope[row], self.graph[row]
        rows = scope and (self._normal.get((scope[:-1], scope[-1], False)) or self._in_scope.get(scope))
        return [one for one in rows or () if self.graph[one] == graph] or list(rows or ())

    def in_scope(self, row: int) -> list[int]:
        """The forward ops of the scope and graph of one."""
        return [one for one in self._in_scope.get(self.scope.get(row, ()), []) if self.graph[one] == self.graph[row]]

    def frame(self, row: int) -> int:
        """The frame at which an op was made, -1 for none."""
        return self._frame[row]

    def forward(self, scope: Scope, kind: str, row: int) -> int:
        """The row of the op whose gradient an op in `scope` computes; `row` itself where there is none."""
        graph = self.graph[row] if row >= 0 else -1
        if scope and (exact := self._normal.get((scope[:-1], scope[-1], False))):
            return next((row for row in reversed(exact) if self.graph[row] == graph), exact[-1])
        rows = self._in_scope.get(scope, [])
        typed = self._of_type(rows, kind)
        if typed:
            twins = (
                [one for one in self._gradients.get(scope, []) if self.type[one] == self.type[row]] if row >= 0 else []
            )
            same = [one for one in typed if graph in (-1, self.graph[one])] or typed
            if row in twins and len(twins) == len(same):  # the tape runs backwards
                return same[len(same) - 1 - twins.index(row)]
            return self._usual(same)
        if not scope:
            return row
        around = rows or self._around(scope)
        return self._usual([one for one in around if graph in (-1, self.graph[one])] or around) if around else row

    def _of_type(self, rows: list[int], kind: str) -> list[int]:
        match = _GRADIENT_TYPE.match(kind)
        if match is None:
            return []
        wanted = {match[1], match[1] + (match[2] or "")}
        return [row for row in rows if self.type[row] in wanted]

    def _around(self, scope: Scope) -> list[int]:
        """An op that stands for a scope: of the innermost one, itself or around it, that has any, but for the outermost."""
        if scope not in self._stand_in:
            rows: list[int] = []
            for n in range(min(len(scope), _MAX_DEPTH), 0, -1):
                rows = self._normal.get((scope[: n - 1], scope[n - 1], False), []) or self._in_scope.get(scope[:n], [])
                if rows:
                    break
            self._stand_in[scope] = [self._usual(rows)] if rows else []
        return self._stand_in[scope]

    def _usual(self, rows: list[int]) -> int:
        """A row whose frame most of them have."""
        frames = Counter(self._frame[row] for row in rows)
        frame = frames.most_common(1)[0][0]
        return next(row for row in rows if self._frame[row] == frame)


def rewritten(leaf: str) -> list[str]:
    """Ops that one made by Grappler may replace, by its name: `ReplaceMulWithSquare_mul`, `SimplifyAggregation_Mul_AddN`."""
    if not re.match(r"[A-Z][a-z]+[A-Z]\w*_", leaf):
        return []
    parts = leaf.split("_")
    return ["_".join(parts[i:]) for i in range(1, min(len(parts), 6))]


_TAPE = "gradient_tape"


def traced_roles(scopes: OpScopes, shares: OpShares | None, source_map: SourceMap | None) -> UInt8:
    """What ops such as `AssignVariableOp_3` are for: in Keras' steps forward ops outside any scope are only the loss's."""
    role = np.zeros(len(scopes), np.uint8)
    if shares is not None and len(shares.frames.file):
        n, (table, row) = len(shares), FrameTable.of_programs(shares.frames, UserFiles.of_map(source_map))
        frame = np.where(shares.frame >= 0, row[shares.frame], -1)
        role[:n] = _roles(table, frame.astype(np.int32), scopes.is_backward[:n])
    frame = np.full(len(scopes), -1, np.int32)
    if source_map is not None and len(source_map.ops):
        frame = _frames_of(scopes, source_map)
        role = np.where(frame >= 0, _roles(FrameTable.of_map(source_map), frame, scopes.is_backward), role)
    of_type = _roles_of_type(scopes, has_frame=frame >= 0)
    role = np.where((of_type > 0) & np.isin(role, (0, ROLES.index(KERAS))), of_type, role)
    if shares is not None:
        role[: len(shares)][shares.is_eager] = 0  # in no graph, though one may have an op of the name
    return role


def _frames_of(scopes: OpScopes, source_map: SourceMap) -> Int32:
    """The frame at which each op outside any scope was made, -1 unknown, in the graph that explains most names."""
    wanted = [
        [
            "/".join((*((_TAPE,) if is_backward else ()), *scope, one))
            for one in ((leaf,) if is_backward else (leaf, *rewritten(leaf)))
        ]
        + list(scope[: 0 if is_backward else 1])
        for scope, leaf, is_backward in zip(scopes.scope, scopes.leaf, scopes.is_backward.tolist(), strict=True)
    ]
    ops = source_map.ops[source_map.ops["op"].isin(set(itertools.chain.from_iterable(wanted)))]
    n_found = ops["graph"].map(ops.groupby("graph").size())
    ops = ops.assign(n_found=n_found).sort_values("n_found", ascending=False, kind="stable").drop_duplicates("op")
    frame_of: dict[str, int] = dict(zip(ops["op"], ops["frame"].tolist(), strict=True))
    return np.array([next((frame_of[name] for name in names if name in frame_of), -1) for names in wanted], np.int32)


def _roles(table: FrameTable, frame: Int32, is_backward: Bool) -> UInt8:
    """The role of ops made at frames; 0 for frame -1."""
    places = frame_places(table)
    is_keras = np.array([*(bucket == KERAS for bucket in places.bucket), False], np.bool_)[frame]
    role = np.where(is_keras, ROLES.index(KERAS), 0).astype(np.uint8)
    for name, is_of in (("loss", places.is_loss), ("metrics", places.is_metric), ("optimizer", places.is_optimizer)):
        role[np.append(is_of, False)[frame]] = ROLES.index(name)
    role[is_keras & is_backward] = ROLES.index("loss")
    return role


def _roles_of_type(scopes: OpScopes, *, has_frame: Bool) -> UInt8:
    """The roles that types tell, of sums of gradients only where no traceback says more."""
    of_type = {kind: ROLES.index(bucket) for kind, bucket in BUCKET_OF_TYPE.items()}
    role = np.array([of_type.get(kind, 0) for kind in scopes.type], np.uint8)
    role[scopes.is_sum & ~has_frame] = ROLES.index(GRADIENT_SUMS)
    return role


PHASES = ("forward", "backward", "optimizer", "other")
FORWARD, BACKWARD, OPTIMIZER, OTHER = range(4)
ENTRY_COLUMNS = ("layer", "class_name", "kind", "allocated_bytes", "peak_bytes", "step_bytes")


@dataclass(frozen=True, eq=False, repr=False)
class Layers:
    """Which layer each op belongs to, and what each layer costs."""

    entries: pd.DataFrame
    """One row per entry, `ENTRY_COLUMNS`; `kind` is `layer`, `loss`, `metrics`, `optimizer`, `input` or `other`; `step_bytes` is
    of the averaged steps, NaN unknown."""
    op_entry: Int32
    """For each op its row in `entries`."""
    op_phase: UInt8
    """For each op an index into `PHASES`."""
    sums: OpSums
    allocating: dict[str, int] = field(default_factory=dict)
    """By name the row in `entries` of what allocated memory; "" for what names no op."""

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per side and entry, `LAYERS`, devices first, by self time falling; memory is on an entry's first row."""
        return _frame(self.entries, self.op_entry, self.op_phase, self.sums)

    def __repr__(self) -> str:
        n = int((self.entries["kind"] == "layer").sum())
        return f"Layers({plural(n, 'layer')}, {len(self.entries)} entries)"


def compute_layers(
    scopes: OpScopes,
    sums: OpSums,
    *,
    shares: OpShares | None = None,
    source_map: SourceMap | None = None,
    memory: MemoryProfile | OpMemory | None = None,
) -> Layers:
    """Attribute every framework op to one entry and a phase: `backward` (a tape's), `optimizer`, `forward`, else `other`."""
    used = memory_by_op(memory) if isinstance(memory, MemoryProfile) else memory
    listed = scopes if used is None else _with_others(scopes, used.name, used.type)
    places = _places(listed, shares, source_map)
    entries = _entries(places, used, listed.name)
    n_ops = len(scopes)
    kind = np.array(places.kind, np.object_)[places.entry]
    phase = np.where(np.isin(kind, ("layer", "loss")), FORWARD, OTHER)
    phase[kind == "optimizer"] = OPTIMIZER
    phase[listed.is_backward | (listed.is_sum & (kind == "other"))] = BACKWARD  # losses are added up, too
    phase[listed.is_input] = OTHER
    op_entry, phase = places.entry[:n_ops], phase.astype(np.uint8)[:n_ops]
    allocating = {} if used is None else _entry_of(places, listed.name, used.name)
    return Layers(entries, op_entry, phase, sums, allocating)


def layers_of(
    names: Sequence[str],
    types: Sequence[str],
    scopes: OpScopes,
    *,
    shares: OpShares | None = None,
    source_map: SourceMap | None = None,
) -> list[tuple[str, str]]:
    """For each of some op names the layer and the kind of entry, as in `Layers.entries`; they need not be ops that ran."""
    listed = _with_others(scopes, names, types)
    places = _places(listed, shares, source_map)
    entry = dict(zip(listed.name, places.entry.tolist(), strict=True))
    return [(places.layer[entry[name]], places.kind[entry[name]]) for name in names]


def _places(listed: OpScopes, shares: OpShares | None, source_map: SourceMap | None) -> Places:
    known = KnownLayers({}, {}, {}) if source_map is None else KnownLayers.read(source_map.layers)
    return find_layers(listed, known, roles=traced_roles(listed, shares, source_map))


def _with_others(scopes: OpScopes, others: Sequence[str], types: Sequence[str]) -> OpScopes:
    """The ops, and after them those of some others, such as allocated, that are not among the ops that ran."""
    listed = frozenset(scopes.name)
    extra = {name: kind for name, kind in zip(others, types, strict=True) if name not in listed}
    if not extra:
        return scopes
    names = [*extra]
    more = op_scopes(names, [*extra.values()], is_input=_beside_input(scopes, names))
    pairs = {one.name: (getattr(scopes, one.name), getattr(more, one.name)) for one in fields(OpScopes)}
    columns: dict[str, Any] = {key: a + b if isinstance(a, tuple) else np.append(a, b) for key, (a, b) in pairs.items()}
    columns["scopes"], columns["scope_id"] = numbered_scopes(scopes.scope + more.scope)
    return OpScopes(**columns)


def _beside_input(scopes: OpScopes, names: Sequence[str]) -> Bool:
    """Which names begin as those of ops of the input do, and none of the model's."""
    roots: tuple[set[str], set[str]] = (set(), set())
    for name, is_input in zip(scopes.name, scopes.is_input.tolist(), strict=True):
        roots[is_input].add(name.partition("/")[0])
    return np.array([name.partition("/")[0] in roots[1] - roots[0] for name in names], np.bool_)


def _entry_of(places: Places, listed: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    entry_of = dict(zip(listed, places.entry.tolist(), strict=True))
    return {name: entry_of[name] for name in names}


def _entries(places: Places, used: OpMemory | None, names: Sequence[str]) -> pd.DataFrame:
    n = len(places.layer)
    allocated, peak, of_steps = np.zeros(n, np.int64), np.zeros(n, np.int64), np.full(n, np.nan)
    extra: list[tuple[str, int]] = []
    if used is not None:
        entry_of = _entry_of(places, names, used.name)
        entry = np.array([entry_of[name] for name in used.name], np.int64)
        np.add.at(allocated, entry, used.allocated_bytes)
        np.add.at(peak, entry, used.peak_bytes)
        if used.step_bytes is not None:
            of_steps = np.bincount(entry, used.step_bytes, n)
        held = ((BEFORE_CAPTURE, used.before_capture_bytes), (STACK, used.stack_bytes))
        extra = [(name, size) for name, size in held if size]
    columns = (
        np.array([*places.layer, *(name for name, _ in extra)], np.object_),
        np.array([*places.class_name, *[""] * len(extra)], np.object_),
        np.array([*places.kind, *["other"] * len(extra)], np.object_),
        np.append(allocated, np.zeros(len(extra), np.int64)),
        np.append(peak, np.array([size for _, size in extra], np.int64)),
        np.append(of_steps, np.full(len(extra), np.nan)),
    )
    return table_of_arrays(dict(zip(ENTRY_COLUMNS, columns, strict=True)))


def _frame(entries: pd.DataFrame, op_entry: Int32, phase: UInt8, sums: OpSums) -> pd.DataFrame:
    columns, row = side_table(entries, op_entry, phase, PHASES, sums)
    n = len(entries)
    n_ops = np.bincount(row, minlength=2 * n)
    unit_us = np.zeros((2 * n, N_UNITS))
    np.add.at(unit_us, row, sums.unit_us)
    on_device = n_ops[:n] > 0
    held = {name: columns[name][:n] for name in ("allocated_bytes", "peak_bytes")}
    has_memory = (held["allocated_bytes"] != 0) | (held["peak_bytes"] != 0)
    n_bytes = {name: np.append(own, np.where(on_device, 0, own)) for name, own in held.items()}
    columns |= {"n_ops": n_ops, **unit_ratios(unit_us), **n_bytes}
    rows = np.flatnonzero(np.append(on_device, (n_ops[n:] > 0) | (has_memory & ~on_device)))
    names = columns["layer"][rows].tolist()
    place = {name: i for i, name in enumerate(sorted(set(names)))}
    rank = np.array([place[name] for name in names], np.int64)
    rows = rows[np.lexsort((rank, -columns["self_time_us"][rows], rows >= n))]
    return table_of_arrays({name: columns[name][rows] for name in LAYERS.names})
