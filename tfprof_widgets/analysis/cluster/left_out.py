"""Summaries of hosts -> sentences on what of their files did not travel.

left_out(summaries) -> sentences
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..base.wording import plural
from . import memory_summary, merged_hlo
from .exchanges import OTHERS as OTHER_EXCHANGES
from .host_summary import HostSummary
from .merged_input import MAX_PIPELINES
from .merged_kernels import MAX_KERNELS
from .merged_kernels import OTHERS as OTHER_KERNELS
from .op_summary import MAX_UNITS
from .op_summary import OTHERS as OTHER_OPS
from .step_summary import MAX_HOST_PIECES, MAX_PIECES, MAX_STEPS


def left_out(summaries: Sequence[HostSummary]) -> tuple[str, ...]:
    """One sentence for each kind of rows of which some hosts have more than travel; mostly none."""
    return tuple(_sentences(summaries))


def _sentences(summaries: Sequence[HostSummary]) -> Iterator[str]:
    cut = [(one.steps.n_all, one.host) for one in summaries if one.steps.n_all > MAX_STEPS]
    if cut:
        yield f"{_of(cut, summaries)} more steps than a reduced profile has: the first {MAX_STEPS:,} of {_most(cut)}."
    yield from _outlined_steps(summaries)
    for n_all, most, what, others in (
        ([one.ops.n_all for one in summaries], MAX_UNITS, "ops", OTHER_OPS),
        ([one.kernels.n_all for one in summaries], MAX_KERNELS, "kernels", OTHER_KERNELS),
    ):
        cut = [(n, one.host) for n, one in zip(n_all, summaries, strict=True) if n > most]
        if cut:
            yield (
                f"{_of(cut, summaries)} more {what} than a reduced profile has: the {most:,} of {_most(cut)} that took most "
                f"time are listed, the time of the others is in the row {others!r}."
            )
    cut = [(one.memory.n_ops, one.host) for one in summaries if one.memory.n_ops > memory_summary.MAX_OPS]
    if cut:
        yield (
            f"{_of(cut, summaries, did='allocated memory for')} more ops than a reduced profile has: the "
            f"{memory_summary.MAX_OPS:,} of {_most(cut)} that allocated most are told apart, the bytes of the others are those "
            f"of {memory_summary.OTHERS!r}."
        )
    yield from _cut_texts(summaries)
    n_other = sum(bool((one.communication["name"] == OTHER_EXCHANGES).any()) for one in summaries)
    if n_other:
        yield f"The exchanges with the least exposed time of {plural(n_other, 'host')} are in rows named {OTHER_EXCHANGES!r}."
    cut = [(one.input.n_all, one.host) for one in summaries if one.input.n_all > MAX_PIPELINES]
    if cut:
        yield (
            f"{_of(cut, summaries)} more input pipelines than a reduced profile has: the {MAX_PIPELINES:,} of {_most(cut)} that "
            "took most time are listed."
        )


def _outlined_steps(summaries: Sequence[HostSummary]) -> Iterator[str]:
    parts = [one.steps for one in summaries]
    cut = [(one.steps.n_outlined, one.host) for one in summaries if one.steps.n_outlined]
    if cut:
        n_drawn, n_pieces = sum(len(one.piece_step) for one in parts), sum(one.n_pieces for one in parts)
        yield (
            f"{_of(cut, summaries)} steps of more parts than the timeline of a reduced profile has: it "
            f"outlines {sum(n for n, _ in cut):,} of {plural(sum(map(len, parts)), 'step')}, and draws all in "
            f"{n_drawn:,} parts in place of {n_pieces:,}, at most {MAX_PIECES} a step and {MAX_HOST_PIECES:,} a host."
        )


def _cut_texts(summaries: Sequence[HostSummary]) -> Iterator[str]:
    n_cut = sum(merged_hlo.n_shortened(one.hlo_ops["expression"].tolist()) for one in summaries)
    if n_cut:
        n_all = sum(len(one.hlo_ops) for one in summaries)
        yield (
            f"Of {n_cut:,} of {plural(n_all, 'HLO op')} only the first {merged_hlo.MAX_EXPRESSION:,} characters of their text "
            f"are here; they end in {merged_hlo.CUT!r}."
        )


def _of(cut: Sequence[tuple[int, str]], summaries: Sequence[HostSummary], *, did: str = "ran") -> str:
    return f"{len(cut):,} of {plural(len(summaries), 'host')} ({cut[0][1]}{', ...' if len(cut) > 1 else ''}) {did}"


def _most(cut: Sequence[tuple[int, str]]) -> str:
    low, high = min(n for n, _ in cut), max(n for n, _ in cut)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
