"""A run whose hosts have clocks that disagree -> the same run on one clock."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..analysis.cluster.cluster_results import ClusterResults
    from ..opening.many_hosts import ReducedHosts
    from ..opening.opened import Opened
    from .run import Run


def on_one_clock(run: Run) -> tuple[Opened, ReducedHosts | None]:
    """What was opened, and the hosts of a reduced run, with the times of each host moved so that shared steps end together."""
    from ..analysis.hosts.clock_shifts import with_clocks_shifted

    shift_ps = run.results.workers.clocks.shift_ps
    if run.reduced is None:
        return replace(run.opened, trace=with_clocks_shifted(run.opened.trace, shift_ps)), None
    moved = replace(run.reduced, results=_with_origins_moved(run.reduced, shift_ps))
    return replace(run.opened, trace=moved.results.trace), moved


def _with_origins_moved(reduced: ReducedHosts, shift_ps: Mapping[str, int]) -> ClusterResults:
    """The results of the hosts whose summaries begin earlier or later."""
    from ..analysis.base.units import PS_PER_NS
    from ..analysis.cluster.cluster_results import merge_hosts

    moved = []
    for one in reduced.results.summaries:
        origin_ns = one.trace.origin_ns
        if origin_ns:
            origin_ns += round(shift_ps.get(one.host, 0) / PS_PER_NS)
        moved.append(replace(one, trace=replace(one.trace, origin_ns=origin_ns)))
    return merge_hosts(moved, source_map=reduced.results.source_map)
