"""Facts of one host -> its `HostSummary`, and what was left out of the summaries of hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

import numpy as np
import pandas as pd

from .advice.of_hosts import host_advice
from .common import plural
from .facts import Facts
from .hosts.hosts import HostFacts
from .hosts.workers import OTHER_EXCHANGES, summarize_communication
from .input.of_hosts import summarize_input
from .low_detail import low_detail
from .memory.of_hosts import summarize_memory
from .ops.kernels import OTHER_KERNELS, summarize_kernels
from .ops.of_hosts import CUT, kept_units, n_shortened, summarize_hlo, summarize_ops
from .ops.other import OTHER_COPIES, summarize_copies
from .steps.of_hosts import outlined_pieces, step_kinds, summarize_steps
from .summaries import MOST, OTHER_OPS, HostSummary, PackedFrame
from .xla.programs import graphs_switched_off


def summarize_host(results: Facts, *, path: str = "") -> HostSummary:
    """Reduce the results of one host's file."""
    trace, units = results.trace, kept_units(results.occurrences, results.op_shares)
    pieces, n_pieces = outlined_pieces(results.steps)
    tables = {
        "hosts": PackedFrame.of(pd.DataFrame(results.host_facts, columns=[one.name for one in fields(HostFacts)])),
        "communication": summarize_communication(results.communication),
        "tf_functions": PackedFrame.of(results.tf_functions),
        "steps": summarize_steps(results.steps),
        **summarize_ops(
            results.occurrences,
            results.op_shares,
            units,
            is_input=results.op_scopes.is_input,
            step_kind=np.append(step_kinds(results.steps), -1)[results.steps.event_step],
        ),
        "hlo_ops": summarize_hlo(results.hlo_ops, units.hlo),
        "kernels": summarize_kernels(results.kernels),
        "copies": summarize_copies(results.copies),
        **summarize_memory(results.memory, results.memory_by_op),
        **summarize_input(results.tf_data),
    }
    return HostSummary(
        host=next((plane.host for plane in trace.planes if plane.host), ""),
        path=path,
        trace=low_detail(trace, results.steps, results.occurrences, pieces),
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
            **results.idle_times,
            **results.idle_ps,
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
    yield from _cut(summaries, "steps", MOST.steps, "ran more steps", "the first {}")
    cut = [one for one in summaries if one.sums["n_outlined"]]
    if cut:
        n_steps = sum(len(one.tables["steps"]) for one in summaries)
        yield (
            f"{_of(cut, summaries)} ran steps of more parts than the timeline of a reduced profile has: it "
            f"outlines {sums['n_outlined']:,} of {plural(n_steps, 'step')}, and draws all in {sums['n_drawn']:,} parts in "
            f"place of {sums['n_pieces']:,}, at most {MOST.pieces} a step and {MOST.host_pieces:,} a host."
        )
    yield from _cut(summaries, "units", MOST.units, "ran more ops", f"the {{}} {listed} {OTHER_OPS!r}")
    yield from _cut(summaries, "kernels", MOST.kernels, "ran more kernels", f"the {{}} {listed} {OTHER_KERNELS!r}")
    told = "with the most exposed time are listed, the others are in the row"
    yield from _cut(summaries, "copies", MOST.copies, "copied more tensors", f"the {{}} {told} {OTHER_COPIES!r}")
    told = "that allocated most are told apart, the bytes of the others are those of"
    told = f"the {{}} {told} {OTHER_OPS!r}"
    yield from _cut(summaries, "memory_ops", MOST.ops, "allocated memory for more ops", told)
    n_cut = sum(n_shortened(one.tables["hlo_ops"]["expression"].tolist()) for one in summaries)
    if n_cut:
        n_all = sum(len(one.tables["hlo_ops"]) for one in summaries)
        yield (
            f"Of {n_cut:,} of {plural(n_all, 'HLO op')} only the first {MOST.expression:,} characters of their text "
            f"are here; they end in {CUT!r}."
        )
    n_other = sum(bool((one.tables["communication"]["name"] == OTHER_EXCHANGES).any()) for one in summaries)
    if n_other:
        yield f"The exchanges with the least exposed time of {plural(n_other, 'host')} are in rows named {OTHER_EXCHANGES!r}."
    told = "the {} that took most time are listed"
    yield from _cut(summaries, "pipelines", MOST.pipelines, "ran more input pipelines", told)


def _cut(summaries: Sequence[HostSummary], name: str, most: int, did: str, told: str) -> Iterator[str]:
    """A sentence where some hosts have more rows of a table than travel."""
    cut = [one for one in summaries if one.n_all[name] > most]
    if cut:
        n = [one.n_all[name] for one in cut]
        whole = f"{min(n):,}" if min(n) == max(n) else f"{min(n):,} to {max(n):,}"
        told = told.format(f"{most:,} of {whole}")
        yield f"{_of(cut, summaries)} {did} than a reduced profile has: {told}."


def _of(cut: Sequence[HostSummary], summaries: Sequence[HostSummary]) -> str:
    return f"{len(cut):,} of {plural(len(summaries), 'host')} ({cut[0].host}{', ...' if len(cut) > 1 else ''})"
