"""`Computing`: what computes in a run's averaged steps, by op, layer and line, and cards on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...trace.arrays import Bool, Float64, Int64
from ..card import IDLE, Advice, Claim, Fix, behind, noted_place, place_of
from ..common import PS_PER_MS
from ..layers.scopes import VENDOR
from ..steps.owners import CATEGORIES

if TYPE_CHECKING:
    from .facts import RunFacts, StepPart

NAMED = {"layer": "The layer", "optimizer": "The optimizer", "loss": "The loss"}
NO_COMPUTE = ("Dataset", "_Send", "_Recv", "_HostSend", "_HostRecv", "_Arg", "_Retval", "XLA_Args", "XLA_Retvals")
"""Types of ops that compute nothing: they wait for data, or copy it."""
TINY = 1e-3
"""Of the time of all ops: what takes less is not looked at."""
_WHOLE = 0.95
"""A line with so much of what its layers take is where all of them are made or called, which tells nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class Computing:
    """The rows of `attribution` in which the averaged steps compute, on devices where any does, else on the host."""

    run: RunFacts

    @cached_property
    def rows(self) -> Int64:
        """Which rows, in order of time within a step."""
        rows, steps = self.run.results.attribution, self.run.steps
        side = CATEGORIES.index("device_compute" if steps.device_computes else "host_compute")
        return np.flatnonzero((rows.category == side) & np.isin(rows.step, steps.row))

    @cached_property
    def op(self) -> Int64:
        """The framework op of each, -1 for none."""
        return self.run.results.attribution.op[self.rows]

    @cached_property
    def event(self) -> Int64:
        """The row of the trace of each."""
        return self.run.results.attribution.event[self.rows]

    @cached_property
    def event_kernel(self) -> Int64:
        """The row of `kernels` of each event of the trace, and of none behind them; -1 for what is no kernel."""
        kernels = self.run.results.kernels
        found = np.full(self.run.trace.n_events + 1, -1, np.int64)
        found[kernels.run_event] = kernels.run_kernel
        return found

    @cached_property
    def ms(self) -> Float64:
        """What each has of the mean step."""
        return self.run.results.attribution.time_ps[self.rows] / PS_PER_MS / max(len(self.run.steps), 1)

    @cached_property
    def op_ms(self) -> Float64:
        """What each framework op that computes has of the mean step; the input's are another matter."""
        shares, is_input = self.run.results.op_shares, self.run.results.op_scopes.is_input
        own = self.op >= 0
        ms = np.bincount(self.op[own], self.ms[own], len(shares.name))
        return np.where(is_input | np.isin(self.types, NO_COMPUTE), 0.0, ms)

    @cached_property
    def types(self) -> npt.NDArray[np.str_]:
        """The type of each framework op, as TensorFlow calls it."""
        return np.array([VENDOR.sub("", one) for one in self.run.results.op_shares.type], np.str_)

    @property
    def matter(self) -> Bool:
        """Which framework ops take more than next to nothing."""
        found: Bool = self.op_ms > TINY * self.op_ms.sum()
        return found

    def part(self, ops: Bool, name: str = "op") -> StepPart:
        """What some framework ops have of the mean step."""
        return self.run.steps.part(name, float(self.op_ms[ops].sum()))

    def with_waits(self, ops: Bool) -> tuple[StepPart, Int64]:
        """The same with what a device idles between them, and the rows of that."""
        amid = self.amid(ops)
        idle_ms = float(self.run.results.attribution.time_ps[amid].sum()) / PS_PER_MS / max(len(self.run.steps), 1)
        return self.run.steps.part("op", self.part(ops).ms + idle_ms), amid

    def rows_of(self, ops: Bool, amid: Int64 | None = None) -> Bool:
        """Which rows of `attribution` some framework ops have, with waits `amid` them."""
        rows = self.run.results.attribution
        found: Bool = np.append(ops, False)[rows.op] & ~rows.is_wait
        found[[] if amid is None else amid] = True
        return found

    def rows_of_kernels(self, chosen: Bool) -> Bool:
        """Which rows of `attribution` some of the `kernels` run in."""
        rows = self.run.results.attribution
        found: Bool = np.append(chosen, False)[self.event_kernel[rows.event]] & ~rows.is_wait
        return found

    def part_of_kernels(self, chosen: Bool, name: str) -> StepPart:
        """What some of the `kernels` have of the mean step."""
        own = np.append(chosen, False)[self.event_kernel[self.event]]
        return self.run.steps.part(name, float(self.ms[own].sum()))

    @cached_property
    def _waits(self) -> tuple[Int64, Int64]:
        """Of each stretch in which a device idles, or no op runs on a host without one, the op before it, and its row."""
        rows, steps = self.run.results.attribution, self.run.steps
        is_run = np.zeros(len(rows), np.bool_)
        is_run[self.rows] = self.op >= 0
        of_host = np.isin(rows.category, [CATEGORIES.index(one) for one in IDLE]) & (not steps.device_computes)
        own = np.flatnonzero((is_run | rows.is_wait | of_host) & np.isin(rows.step, steps.row))
        own = own[np.lexsort((rows.start_ps[own], rows.step[own]))]
        ran = is_run[own]
        last = np.maximum.accumulate(np.where(ran, np.arange(len(own)), -1)) if len(own) else own
        is_between = ~ran & (last >= 0) & (rows.step[own[last]] == rows.step[own])
        return rows.op[own[last[is_between]]], own[is_between]

    def amid(self, ops: Bool) -> Int64:
        """The rows in which a device idles between runs of some ops."""
        before, wait = self._waits
        own = np.append(ops, False)
        found: Int64 = wait[own[before] & own[self.run.results.attribution.op[wait]]]
        return found

    def behind(self, ops: Bool) -> Int64:
        """The rows in which nothing runs right behind some ops, before others of the step."""
        (before, wait), rows = self._waits, self.run.results.attribution
        last = np.zeros(self.run.steps.n_all, np.int64)
        np.maximum.at(last, rows.step[self.rows], rows.start_ps[self.rows])
        found: Int64 = wait[np.append(ops, False)[before] & (rows.start_ps[wait] < last[rows.step[wait]])]
        return found

    def places(self, ops: Bool) -> Iterator[tuple[str, Bool]]:
        """Of some framework ops those of the costliest layer, optimizer or loss, then those of the costliest line."""
        layers, lines = self.run.results.layers, self.run.results.source_lines
        of_layer = layers.entries["kind"].isin(NAMED).to_numpy()[layers.op_entry]
        yield "layer", self._costliest(layers.op_entry, ops & of_layer)
        if len(lines.entries):
            yield "line", self._costliest(lines.op_entry, ops & self._is_at_line)

    def of_type(self, pattern: re.Pattern[str]) -> Bool:
        """Which framework ops compute and are of some types."""
        known = {kind: pattern.fullmatch(kind) is not None for kind in set(self.types.tolist())}
        return np.array([known[kind] for kind in self.types.tolist()], np.bool_) & (self.op_ms > 0)

    def groups(self, every: Bool) -> Iterator[tuple[str, Bool]]:
        """The costliest of each kind of group of some framework ops, with the kinds that say most first."""
        layers, lines = self.run.results.layers, self.run.results.source_lines
        for what, ops in self.places(every):
            here = np.isin(layers.op_entry, layers.op_entry[ops & every])
            if what == "layer" or self.op_ms[ops].sum() < _WHOLE * self.op_ms[here].sum():
                yield what, ops
        kind = np.unique(self.types, return_inverse=True)[1]
        if len(lines.entries):
            group = lines.op_entry.astype(np.int64) * (int(kind.max(initial=0)) + 1) + kind
            yield "op", self._costliest(group, every & self._is_at_line)
        yield "type", self._costliest(kind, every)

    @property
    def _is_at_line(self) -> Bool:
        lines = self.run.results.source_lines
        found: Bool = (lines.entries["bucket"] == "").to_numpy()[lines.op_entry]
        return found

    def _costliest(self, group: npt.NDArray[np.integer], ops: Bool) -> Bool:
        """Those of some ops that are of the group that takes most."""
        _, code = np.unique(group, return_inverse=True)
        ms = np.bincount(code, np.where(ops, self.op_ms, 0.0))
        return ops & (code == int(ms.argmax())) if len(ms) else ops

    def top(self, ops: Bool) -> int:
        """The costliest of some."""
        return int(np.where(ops, self.op_ms, -1.0).argmax())

    def place(self, what: str, ops: Bool) -> tuple[str, dict[str, Any]]:
        """What a title calls some ops, and what evidence does."""
        run, top = self.run, self.top(ops)
        entry = run.results.layers.entries.iloc[int(run.results.layers.op_entry[top])]
        layer = str(entry["layer"]) if what == "layer" else ""
        line = op_line(run, top) or noted_place(run.source_map, "layers", "layer", layer)
        name = (
            f"{NAMED[str(entry['kind'])]} {layer}" if layer else f"Line {line}" if what == "line" else self.types[top]
        )
        at = behind(line) if layer else f" at {line}" if line and what == "op" else ""
        evidence = {"layer": layer, "line": line, "op_type": str(self.types[top])}
        return f"{name}{at}", {key: text for key, text in evidence.items() if text}

    def advise(
        self,
        title: str,
        ops: Bool,
        fix: Fix,
        gain_ms: float = 0.0,
        part: StepPart | None = None,
        amid: Int64 | None = None,
        /,
        **evidence: Any,
    ) -> Advice:
        """A card on some ops, which shows them in the step that takes as long as most do; `part` is what they take, if more than
        their own time."""
        return self.run.advise(
            title,
            part or self.part(ops),
            fix,
            view="op_table",
            ops=costliest(self.run, ops),
            gain=gain_ms / self.run.steps.mean_ms,
            claim=Claim(self.rows_of(ops, amid)),
            **evidence,
        )

    @property
    def of_device(self) -> str:
        """Whose time it is, in a sentence."""
        return f" of the {self.run.steps.device}" if self.run.steps.device_computes else ""


def costliest(run: RunFacts, chosen: Bool) -> tuple[str, ...]:
    """Names of the five costliest of some framework ops."""
    us = np.where(chosen, run.results.op_sums.self_us, 0.0)
    order = np.argsort(-us, kind="stable")[:5]
    least = float(us.max(initial=0.0)) / 100
    return run.known(*(run.results.op_shares.name[i] for i in order.tolist() if us[i] > least))


def op_line(run: RunFacts, op: int) -> str:
    """`file:line` of the user's that a framework op is charged to, empty where it is charged to none."""
    lines = run.results.source_lines
    row = lines.entries.iloc[int(lines.op_entry[op])]
    return "" if row["bucket"] else place_of(run.source_map, str(row["file"]), int(row["line"]))
