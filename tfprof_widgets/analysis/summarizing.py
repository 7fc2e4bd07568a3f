"""Facts of one host -> its `HostSummary`, and what was left out of the summaries of hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from .advice.of_hosts import host_advice
from .common import plural
from .facts import Facts
from .hosts import workers
from .input import tf_data
from .low_detail import low_detail
from .memory import memory
from .ops import kernels
from .ops.other import CUT, n_shortened
from .steps.steps import outlined_pieces
from .summaries import MOST, TRAVELLING, HostSummary
from .xla.programs import graphs_switched_off

__all__ = ["kernels", "left_out", "memory", "summarize_host", "tf_data", "workers"]
"""The modules are those that declare what travels, which nothing else here imports."""


def summarize_host(results: Facts, *, path: str = "") -> HostSummary:
    trace, (pieces, n_pieces) = results.trace, outlined_pieces(results.steps)
    packed = {name: declared.packed(results) for name, declared in TRAVELLING.items()}
    return HostSummary(
        host=next((plane.host for plane in trace.planes if plane.host), ""),
        path=path,
        trace=low_detail(trace, results.steps, results.occurrences, pieces),
        tables={name: table for name, (table, _) in packed.items()},
        n_all={name: n for name, (_, n) in packed.items()},
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
    for name, declared in sorted(TRAVELLING.items(), key=itemgetter(0)):
        most = getattr(MOST, declared.most, 0)
        cut = [one for one in summaries if declared.did and one.n_all[name] > most]
        if cut:
            n = [one.n_all[name] for one in cut]
            whole = f"{min(n):,}" if min(n) == max(n) else f"{min(n):,} to {max(n):,}"
            told = declared.told.format(f"{most:,} of {whole}")
            yield f"{_of(cut, summaries)} {declared.did} than a reduced profile has: {told}."
    cut = [one for one in summaries if one.sums["n_outlined"]]
    if cut:
        n_steps = sum(len(one.tables["steps"]) for one in summaries)
        yield (
            f"{_of(cut, summaries)} ran steps of more parts than the timeline of a reduced profile has: it "
            f"outlines {sums['n_outlined']:,} of {plural(n_steps, 'step')}, and draws all in {sums['n_drawn']:,} parts in "
            f"place of {sums['n_pieces']:,}, at most {MOST.pieces} a step and {MOST.host_pieces:,} a host."
        )
    n_cut = sum(n_shortened(one.tables["hlo_ops"]["expression"].tolist()) for one in summaries)
    if n_cut:
        n_all = sum(len(one.tables["hlo_ops"]) for one in summaries)
        yield (
            f"Of {n_cut:,} of {plural(n_all, 'HLO op')} only the first {MOST.expression:,} characters of their text "
            f"are here; they end in {CUT!r}."
        )


def _of(cut: Sequence[HostSummary], summaries: Sequence[HostSummary]) -> str:
    return f"{len(cut):,} of {plural(len(summaries), 'host')} ({cut[0].host}{', ...' if len(cut) > 1 else ''})"
