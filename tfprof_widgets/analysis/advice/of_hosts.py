"""Advice on single hosts -> what travels of it, and the advice on a run of many hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from ...trace.arrays import Int64
from ..card import MEDIUM_GAIN, RULES, Advice, Fix, FoundAdvice, Highlight, ranked, severity_of
from ..common import PS_PER_NS, head, percent, plural
from ..facts import Facts
from ..hosts.hosts import not_training
from ..names import parse_op_names
from ..summaries import MOST
from .rules import find_advice, without_explained

MIN_SHARE = MEDIUM_GAIN
"""Of the step time of all hosts: by chance some of a thousand hosts have anything."""
_MOST_NOTICES = 3
_WITHOUT_EVENTS = ("memory_timeline", "source_view")
"""Views that show of a reduced profile nothing of a moment: not the allocations, nor the lines at which Python was."""
_OF_NAMES = ("op_table", "input_graph")
"""Views in which only what has a name can be selected; of a host with very many ops or pipelines not all travel."""


def host_advice(results: Facts) -> FoundAdvice:
    """Ask the rules that the events of one host answer; times are after its own origin, steps are rows of its own."""
    found, _ = find_advice(results, [one for one in RULES.values() if one.scope == "host"])
    notices = (head(one, MOST.text) for one in found.notices[: MOST.advice])
    return FoundAdvice(tuple(map(_bounded, found.advice[: MOST.advice])), tuple(notices))


def _bounded(one: Advice) -> Advice:
    names = [name for name in one.selection.op_names if len(name) <= MOST.text]
    told = {name: head(text, MOST.text) if isinstance(text, str) else text for name, text in one.evidence.items()}
    return replace(
        one,
        title=head(one.title, MOST.text),
        evidence=MappingProxyType(told),
        fix=one.fix if len(str(one.fix)) <= MOST.fix else Fix(head(one.fix.words, MOST.text)),
        selection=replace(one.selection, op_names=tuple(names[: MOST.names]), stretches_ns=(), n_stretches=0),
    )


@dataclass(frozen=True, eq=False, repr=False)
class HostAdvice:
    """What the rules found on one host, and where that is in a reduced profile."""

    host: str
    found: FoundAdvice
    step_time_ms: float
    """Of all steps that averages are over; 0 without any."""
    shift_ps: int
    """By how much its times move."""
    rows: Int64
    """Of each of its steps that travelled the row of `steps`."""


def reduced_advice(results: Facts) -> FoundAdvice:
    """What the tables of all hosts tell, and what the rules that need events found on each; in the order of `ranked`."""
    whole, _ = find_advice(results, [one for one in RULES.values() if one.scope == "hosts"])
    hosts = merge_advice(_training(results), _known(results))
    told = without_explained((*whole.advice, *hosts.advice))
    return FoundAdvice(ranked(map(_visible, told)), (*whole.notices, *hosts.notices))


def merge_advice(hosts: Sequence[HostAdvice], known: Collection[str]) -> FoundAdvice:
    """Make one advice of each rule (and layer), that of the host where it could win most; its `gain_ratio` is the mean over hosts
    by step time, and below `MIN_SHARE` it is left out unless it is not about time."""
    # Hosts run one program, but an input, a function or an allocator is each host's own.
    by_subject: dict[tuple[str, object], dict[str, tuple[HostAdvice, Advice]]] = {}
    for one in hosts:
        for advice in one.found.advice:  # ranked: of several on one subject the first could win most
            subject = advice.rule, advice.evidence.get("layer", "")
            by_subject.setdefault(subject, {}).setdefault(one.host, (one, advice))
    whole_ms, told = sum(one.step_time_ms for one in hosts), []
    for found in (list(own.values()) for own in by_subject.values()):
        host, worst = max(found, key=lambda one: one[1].gain_ratio)  # of equals the first
        sums = (advice.gain_ratio * (one.step_time_ms if whole_ms else 1) for one, advice in found)
        gain = sum(sums) / (whole_ms or len(hosts))
        if gain >= MIN_SHARE or worst.gain_ratio < MIN_SHARE:
            told.append(_of_all(worst, host, known, gain, n_found=len(found), n_all=len(hosts)))
    return FoundAdvice(tuple(told), tuple(_failures(hosts)))


def _training(results: Facts) -> list[HostAdvice]:
    hosts, others = results.of_hosts, not_training(results.host_facts)
    step_ms = results.steps.frame["step_time_ms"].where(results.is_averaged, 0.0).to_numpy()
    of_host = np.split(results.merged_steps.row, hosts.every.first_row("steps")[1:-1])
    return [
        HostAdvice(one.host, one.advice, float(step_ms[rows].sum()), shift_ps, rows)
        for one, rows, shift_ps in zip(hosts.summaries, of_host, hosts.every.shift_ps.tolist(), strict=True)
        if one.host not in others
    ]


def _known(results: Facts) -> frozenset[str]:
    """Names of ops, of events that the timeline shows, and of iterators."""
    iterators = [name for names in results.tf_data.iterators["event_names"] for name in names]
    return frozenset((*results.ops["name"], *results.trace.strings, *iterators, *parse_op_names(iterators).name))


def _of_all(one: Advice, host: HostAdvice, known: Collection[str], gain: float, *, n_found: int, n_all: int) -> Advice:
    """What a host says of itself, said of all, with the times, the steps and the names of the reduced profile."""
    at, shift_ns, name = one.selection, host.shift_ps // PS_PER_NS, host.host
    every = "both hosts" if n_all == 2 else f"all {n_all:,} hosts"
    hosts = every if n_found == n_all else f"{n_found:,} of {n_all:,} hosts"
    where = f"On {hosts}{f' ({percent(gain)} of all step time)' if gain > 0 else ''}"
    shown = f"shown for {name}{', where it costs most' if gain > 0 and n_found > 1 else ''}"
    told: dict[str, float | str] = {
        "host": name,
        "host_gain_ratio": one.gain_ratio,
        "n_found": n_found,
        "n_hosts": n_all,
    }
    return replace(
        one,
        title=f"{one.title} {where}; {shown}." if n_all > 1 else one.title,
        severity=severity_of(gain),
        evidence=MappingProxyType({**one.evidence, **told}),
        gain_ratio=gain,
        selection=Highlight(
            op_names=tuple(name for name in at.op_names if name in known),
            time_range_ns=tuple(time_ns + shift_ns for time_ns in at.time_range_ns),  # type: ignore[arg-type]
            step=int(host.rows[at.step]) if at.step is not None and at.step < len(host.rows) else None,
            view=at.view,
            host=name,
        ),
    )


def _failures(hosts: Sequence[HostAdvice]) -> Iterator[str]:
    count = Counter(notice for one in hosts for notice in one.found.notices)
    for notice, n in count.most_common(_MOST_NOTICES):
        yield f"{notice} This is so on {n:,} of {plural(len(hosts), 'host')}."
    if len(count) > _MOST_NOTICES:
        more = len(count) - _MOST_NOTICES
        yield f"{more:,} more of {len(count):,} such failures of rules are in the notices of single hosts."


def _visible(one: Advice) -> Advice:
    """The same, with another view where a reduced profile has nothing in the one that shows it best."""
    at = one.selection
    if at.view not in _WITHOUT_EVENTS and (at.view not in _OF_NAMES or at.op_names):
        return one
    return replace(one, selection=replace(at, view="timeline" if at.time_range_ns else "op_table"))
