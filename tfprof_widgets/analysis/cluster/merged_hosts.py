"""What is known of each host -> the same of all hosts.

merge_host_facts(summaries) -> facts, in the order of the merged trace
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..hosts.roles import HostFacts
from .host_summary import HostSummary


def merge_host_facts(summaries: Sequence[HostSummary]) -> tuple[HostFacts, ...]:
    """The facts of all hosts; of a host with several files what any of them tells."""
    found: dict[str, HostFacts] = {}
    for own in (own for one in summaries for own in one.host_facts):
        known = found.get(own.host)
        if known is None:
            found[own.host] = own
            continue
        found[own.host] = replace(
            known,
            task=known.task or own.task,
            has_accelerator=known.has_accelerator or own.has_accelerator,
            is_served=known.is_served or own.is_served,
            serving_ratio=max(known.serving_ratio, own.serving_ratio),
            n_events=known.n_events + own.n_events,
        )
    return tuple(found.values())
