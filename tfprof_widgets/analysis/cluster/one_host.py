"""Results of one host -> `HostSummary`, which travels to where all hosts are merged; what was left out of it."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...trace.building import with_host
from ...trace.trace import Trace
from ..advice.card import Advice, Fix
from ..advice.rules import HOST_RULES, FoundAdvice, find_advice
from ..common import head, plural
from ..events import Framework
from ..hosts.hosts import HostFacts
from ..ops.ops import idle_by_side
from ..verdict import idle_times
from ..xla.programs import graphs_switched_off
from .merged import (
    CUT,
    MAX_COPIES,
    MAX_EXPRESSION,
    MAX_KERNELS,
    MAX_PIPELINES,
    OTHER_COPIES,
    OTHER_KERNELS,
    n_shortened,
    summarize_copies,
    summarize_hlo,
    summarize_input,
    summarize_kernels,
)
from .summaries import (
    MAX_HOST_PIECES,
    MAX_OPS,
    MAX_PIECES,
    MAX_STEPS,
    MAX_UNITS,
    OTHER_EXCHANGES,
    OTHER_OPS,
    PackedFrame,
    interned,
    kept_units,
    low_detail,
    outlined_pieces,
    summarize_communication,
    summarize_memory,
    summarize_ops,
    summarize_steps,
)

if TYPE_CHECKING:
    from ..facts import Facts


MAX_ADVICE = 24
"""Of one host, those that could win most; there are not so many rules."""
MAX_TEXT = 600
"""Characters of a title, of a text of the evidence, of a notice."""
MAX_FIX = 3_000
"""Characters of a fix; of what is longer the words travel, as code that is cut does not run."""
MAX_NAMES = 10
"""Ops that an advice selects; one whose name is longer than `MAX_TEXT` is left out."""


def host_advice(results: Facts) -> FoundAdvice:
    """Ask the rules that the events of one host answer; times are after its own origin, steps are rows of its own."""
    found = find_advice(results, HOST_RULES)
    return FoundAdvice(
        tuple(map(_bounded, found.advice[:MAX_ADVICE])), tuple(map(_shortened, found.notices[:MAX_ADVICE]))
    )


def _bounded(one: Advice) -> Advice:
    names = [name for name in one.selection.op_names if len(name) <= MAX_TEXT]
    return replace(
        one,
        title=_shortened(one.title),
        evidence=MappingProxyType(
            {name: _shortened(value) if isinstance(value, str) else value for name, value in one.evidence.items()}
        ),
        fix=one.fix if len(str(one.fix)) <= MAX_FIX else Fix(_shortened(one.fix.words)),
        selection=replace(one.selection, op_names=tuple(names[:MAX_NAMES])),
    )


def _shortened(text: str) -> str:
    return head(text, MAX_TEXT)


@dataclass(frozen=True, eq=False, repr=False)
class HostSummary:
    """What is kept of the file of one host. Everything in it is small, whatever the file's size, and can be pickled."""

    host: str
    """The host's name, as the file tells it."""
    path: str
    """Where the file is."""
    trace: Trace
    """Its planes and sessions with the few events of `low_detail`."""
    tables: Mapping[str, PackedFrame]
    """By name. Each has at most so many rows, and those of all hosts are stacked, see `Stack`; times are after the host's own
    origin."""
    n_all: Mapping[str, int]
    """How many rows a table has on the host, for those that are cut."""
    sums: Mapping[str, int]
    """What is added up over all hosts."""
    facts: Mapping[str, str]
    """What the capture noted of the machine, see `compute_environment`."""
    framework: Framework
    """Which calls tell, of which not all travel."""
    memory_remedy: str | None
    """Why little or no memory was recorded; None where all is there."""
    advice: FoundAdvice
    """What the rules of a single host say of it, see `host_advice`."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Travels compressed: to a quarter, as most of it are texts."""
        state = {column.name: getattr(self, column.name) for column in fields(self)}
        return _unpacked, (zlib.compress(pickle.dumps(state, protocol=5), 1),)

    def renamed(self, host: str) -> HostSummary:
        """The same, said to come from `host`."""
        tables = {name: table.of_host(host) for name, table in self.tables.items()}
        return replace(self, host=host, trace=with_host(self.trace, host), tables=tables)

    def __repr__(self) -> str:
        n_events, n_steps, n_ops = self.sums["n_events"], len(self.tables["steps"]), len(self.tables["units"])
        return f"HostSummary({self.host!r}, {n_events} events, {n_steps} steps, {n_ops} ops)"


def _unpacked(packed: bytes) -> HostSummary:
    """What was pickled; texts that several hosts have are there once."""
    summary = HostSummary(**pickle.loads(zlib.decompress(packed)))
    return replace(summary, trace=replace(summary.trace, strings=interned(summary.trace.strings)))


def summarize_host(results: Facts, *, path: str = "") -> HostSummary:
    """Reduce the results of one host's file."""
    trace, units = results.trace, kept_units(results)
    pieces, n_pieces = outlined_pieces(results.steps)
    tables = {
        "hosts": PackedFrame.of(pd.DataFrame(results.host_facts, columns=[one.name for one in fields(HostFacts)])),
        "communication": summarize_communication(results.communication),
        "tf_functions": PackedFrame.of(results.tf_functions),
        "steps": summarize_steps(results.steps),
        **summarize_ops(results, units),
        "hlo_ops": summarize_hlo(results.hlo_ops, units.hlo),
        "kernels": summarize_kernels(results.kernels),
        "copies": summarize_copies(results.copies),
        **summarize_memory(results.memory, results.memory_by_op),
        **summarize_input(results.tf_data),
    }
    return HostSummary(
        host=next((plane.host for plane in trace.planes if plane.host), ""),
        path=path,
        trace=low_detail(results, pieces),
        tables=tables,
        n_all={
            "steps": len(results.steps.frame),
            "units": units.n_all,
            "kernels": len(results.kernels.frame),
            "copies": len(results.copies),
            "memory_ops": len(results.memory_by_op.name),
            "pipelines": len(results.tf_data.pipelines),
        },
        sums={
            **n_pieces,
            **idle_times(trace, results.occurrences),
            **idle_by_side(results.occurrences),
            **vars(graphs_switched_off(trace)),
            "n_events": trace.n_events,
            "n_threads": results.environment.n_threads,
            "n_active_devices": results.environment.n_active_devices,
            "compute_16bit_ps": results.steps.compute_16bit_ps,
            "compute_32bit_ps": results.steps.compute_32bit_ps,
            "enqueue_busy_ps": results.enqueue_ps[0],
            "enqueue_period_ps": results.enqueue_ps[1],
        },
        facts=results.noted,
        framework=results.environment.framework,
        memory_remedy=results.memory.remedy,
        advice=host_advice(results),
    )


def left_out(summaries: Sequence[HostSummary], sums: Mapping[str, int]) -> tuple[str, ...]:
    """One sentence for each kind of rows of which some hosts have more than travel; mostly none."""
    return tuple(_sentences(summaries, sums))


def _sentences(summaries: Sequence[HostSummary], sums: Mapping[str, int]) -> Iterator[str]:
    listed = "that took most time are listed, the time of the others is in the row"
    yield from _cut(summaries, "steps", MAX_STEPS, "ran more steps", "the first {}")
    yield from _outlined_steps(summaries, sums)
    yield from _cut(summaries, "units", MAX_UNITS, "ran more ops", f"the {{}} {listed} {OTHER_OPS!r}")
    yield from _cut(summaries, "kernels", MAX_KERNELS, "ran more kernels", f"the {{}} {listed} {OTHER_KERNELS!r}")
    told = "with the most exposed time are listed, the others are in the row"
    yield from _cut(summaries, "copies", MAX_COPIES, "copied more tensors", f"the {{}} {told} {OTHER_COPIES!r}")
    told = "that allocated most are told apart, the bytes of the others are those of"
    told = f"the {{}} {told} {OTHER_OPS!r}"
    yield from _cut(summaries, "memory_ops", MAX_OPS, "allocated memory for more ops", told)
    yield from _cut_texts(summaries)
    n_other = sum(bool((one.tables["communication"]["name"] == OTHER_EXCHANGES).any()) for one in summaries)
    if n_other:
        yield f"The exchanges with the least exposed time of {plural(n_other, 'host')} are in rows named {OTHER_EXCHANGES!r}."
    told = "the {} that took most time are listed"
    yield from _cut(summaries, "pipelines", MAX_PIPELINES, "ran more input pipelines", told)


def _cut(summaries: Sequence[HostSummary], name: str, most: int, did: str, told: str) -> Iterator[str]:
    """A sentence where some hosts have more rows of a table than travel."""
    cut = [one for one in summaries if one.n_all[name] > most]
    if cut:
        n = [one.n_all[name] for one in cut]
        whole = f"{min(n):,}" if min(n) == max(n) else f"{min(n):,} to {max(n):,}"
        told = told.format(f"{most:,} of {whole}")
        yield f"{_of(cut, summaries)} {did} than a reduced profile has: {told}."


def _outlined_steps(summaries: Sequence[HostSummary], sums: Mapping[str, int]) -> Iterator[str]:
    cut = [one for one in summaries if one.sums["n_outlined"]]
    if cut:
        n_steps = sum(len(one.tables["steps"]) for one in summaries)
        yield (
            f"{_of(cut, summaries)} ran steps of more parts than the timeline of a reduced profile has: it "
            f"outlines {sums['n_outlined']:,} of {plural(n_steps, 'step')}, and draws all in {sums['n_drawn']:,} parts in "
            f"place of {sums['n_pieces']:,}, at most {MAX_PIECES} a step and {MAX_HOST_PIECES:,} a host."
        )


def _cut_texts(summaries: Sequence[HostSummary]) -> Iterator[str]:
    n_cut = sum(n_shortened(one.tables["hlo_ops"]["expression"].tolist()) for one in summaries)
    if n_cut:
        n_all = sum(len(one.tables["hlo_ops"]) for one in summaries)
        yield (
            f"Of {n_cut:,} of {plural(n_all, 'HLO op')} only the first {MAX_EXPRESSION:,} characters of their text "
            f"are here; they end in {CUT!r}."
        )


def _of(cut: Sequence[HostSummary], summaries: Sequence[HostSummary]) -> str:
    return f"{len(cut):,} of {plural(len(summaries), 'host')} ({cut[0].host}{', ...' if len(cut) > 1 else ''})"
