"""Framework ops -> time and memory per Keras layer, forward, backward and optimizer apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Int32, UInt8
from ..base.compute_units import N_UNITS, unit_ratios
from ..base.table_types import table_of_arrays
from ..base.wording import plural
from ..columns.registry import TABLES
from ..memory.memory import MemoryProfile
from ..memory.memory_live import BEFORE_CAPTURE, STACK
from ..ops.op_shares import OpShares
from ..ops.op_totals import OpTotals, side_table
from .layer_memory import OpMemory, memory_by_op
from .layer_names import KnownLayers, Places, find_layers
from .op_scopes import OpScopes, numbered_scopes, op_scopes
from .traced_roles import traced_roles

PHASES = ("forward", "backward", "optimizer", "other")
FORWARD, BACKWARD, OPTIMIZER, OTHER = range(4)
LAYER_COLUMNS = TABLES["layers"].names
ENTRY_COLUMNS = ("layer", "class_name", "kind", "allocated_bytes", "peak_bytes", "step_bytes")


@dataclass(frozen=True, eq=False, repr=False)
class Layers:
    """Which layer each op belongs to, and what each layer costs."""

    entries: pd.DataFrame
    """One row per entry, `ENTRY_COLUMNS`. `kind` is `layer`, `loss`, `metrics`, `optimizer`, `input`, or `other` for "not in a
    layer" and for memory that no op of the capture explains; `step_bytes` is what was allocated in the averaged steps, a step,
    NaN unknown."""
    op_entry: Int32
    """For each op its row in `entries`."""
    op_phase: UInt8
    """For each op an index into `PHASES`."""
    totals: OpTotals
    """Time and executions of each op."""
    allocating: dict[str, int] = field(default_factory=dict)
    """By name the row in `entries` of what allocated memory; "" for what names no op."""

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per side and entry, `LAYER_COLUMNS`, first devices then host, then by self time falling.

        `device` is `Device` or `Host` as in `ops`. `forward_time_us` to `other_time_us` add up to `self_time_us`, and those of
        all rows to the self time of all ops; `self_time_ratio` is of the side's total. `tensor_16bit_ratio` to
        `vector_32bit_ratio` divide the kernel time of its ops by what computes.

        Memory is of the entry as a whole and stands on its first row only, so that it adds up: `allocated_bytes` to all bytes
        allocated in the capture, `peak_bytes` to what was in use at the peak (of what is told in `OpMemory`), of which
        "allocated before the capture" (and "stack", if any) is a row of its own. A compiled program allocates as a whole, for
        the op that runs it, which is in no layer.
        """
        return _frame(self.entries, self.op_entry, self.op_phase, self.totals)

    def __repr__(self) -> str:
        n = int((self.entries["kind"] == "layer").sum())
        return f"Layers({plural(n, 'layer')}, {len(self.entries)} entries)"


def compute_layers(
    scopes: OpScopes,
    totals: OpTotals,
    *,
    shares: OpShares | None = None,
    source_map: SourceMap | None = None,
    memory: MemoryProfile | OpMemory | None = None,
) -> Layers:
    """Attribute every framework op to one entry and one phase.

    The phase is `backward` for an op made by a gradient tape (charged to the layer of the op it is the gradient of; the `AddN`
    outside any scope by which a tape adds up gradients of one value to the layer whose gradients they are or, where these are of
    several, to that which made the value; where no graph is known, it is "gradient sums"), `optimizer` for one of the optimizer,
    `forward` for any other op of a layer or of the loss, else `other` (metrics, input, and what is in no layer).

    Args:
        scopes: the framework ops.
        totals: their time and executions.
        shares: the framework ops, with the tracebacks that compiled programs carry.
        source_map: the layers of the program, without which layers are told from scopes (see `find_layers`), and
            tracebacks, which tell what ops outside any scope are for.
        memory: the memory profile, or what `memory_by_op` made of it, for the two byte columns; without it they are 0.
    """
    used = memory_by_op(memory) if isinstance(memory, MemoryProfile) else memory
    listed = scopes if used is None else _with_others(scopes, used.name, used.type)
    places = _places(listed, shares, source_map)
    entries = _entries(places, used, listed.name)
    n_ops = len(scopes)
    op_entry, phase = places.entry[:n_ops], _phases(listed, places)[:n_ops]
    allocating = {} if used is None else _entry_of(places, listed.name, used.name)
    return Layers(entries, op_entry, phase, totals, allocating)


def layers_of(
    names: Sequence[str],
    types: Sequence[str],
    scopes: OpScopes,
    *,
    shares: OpShares | None = None,
    source_map: SourceMap | None = None,
) -> list[tuple[str, str]]:
    """For each of some op names the layer and the kind of entry, as in `Layers.entries`; they need not be ops that ran.

    Args:
        names: of the ops.
        types: theirs, "" where unknown.
        scopes: the ops that ran.
        shares: as for `compute_layers`.
        source_map: as for `compute_layers`.
    """
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


def _phases(scopes: OpScopes, places: Places) -> UInt8:
    kind = np.array(places.kind, np.object_)[places.entry]
    phase = np.where(np.isin(kind, ("layer", "loss")), FORWARD, OTHER)
    phase[kind == "optimizer"] = OPTIMIZER
    phase[scopes.is_backward | (scopes.is_sum & (kind == "other"))] = BACKWARD  # losses are added up, too
    phase[scopes.is_input] = OTHER
    return phase.astype(np.uint8)


def _entry_of(places: Places, listed: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """The entry of each of some names that are listed."""
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


def _frame(entries: pd.DataFrame, op_entry: Int32, phase: UInt8, totals: OpTotals) -> pd.DataFrame:
    columns, row = side_table(entries, op_entry, phase, PHASES, totals)
    n = len(entries)
    n_ops = np.bincount(row, minlength=2 * n)
    unit_us = np.zeros((2 * n, N_UNITS))
    np.add.at(unit_us, row, totals.unit_us)
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
    return table_of_arrays({name: columns[name][rows] for name in LAYER_COLUMNS})
