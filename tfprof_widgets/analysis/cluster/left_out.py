"""Summaries of hosts -> sentences on what of their files did not travel.

left_out(summaries, sums) -> sentences
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..base.wording import plural
from .exchanges import OTHERS as OTHER_EXCHANGES
from .host_summary import HostSummary
from .memory_summary import MAX_OPS
from .merged_copies import MAX_COPIES
from .merged_copies import OTHERS as OTHER_COPIES
from .merged_hlo import CUT, MAX_EXPRESSION, n_shortened
from .merged_input import MAX_PIPELINES
from .merged_kernels import MAX_KERNELS
from .merged_kernels import OTHERS as OTHER_KERNELS
from .op_summary import MAX_UNITS
from .op_summary import OTHERS as OTHER_OPS
from .step_summary import MAX_HOST_PIECES, MAX_PIECES, MAX_STEPS


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
