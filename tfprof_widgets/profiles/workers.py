"""ProfileWorkers: the hosts of one profile side by side, as tables."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ..analysis.cluster.cluster_results import ClusterResults
    from ..analysis.results import Results
    from ..opening.many_hosts import ReducedHosts
    from ..opening.opened import Opened
    from .one_run import Profile


class ProfileWorkers:
    """The part of a `Profile` that compares its hosts."""

    title: str
    _reduced: ReducedHosts | None
    _notices: tuple[str, ...]

    @property
    def _opened(self) -> Opened:
        """The files that the profile came from."""
        raise NotImplementedError

    @property
    def _results(self) -> Results:
        """What all of it is computed from."""
        raise NotImplementedError

    @property
    def _n_missing_hosts(self) -> int:
        """Hosts of the run that sent no trace, or whose trace could not be read."""
        opened = self._opened
        n_failed = len(opened.left_out) if self._reduced is None else self._reduced.n_failed
        return n_failed + (opened.saved.n_missing_hosts if opened.saved is not None else 0)

    @cached_property
    def hosts(self) -> pd.DataFrame:
        """One row per host: `host, role, n_steps, step_time_ms, n_events, path, task`; see `host_table`.

        The role is `worker`, `chief`, `parameter server` or `coordinator`; the path that of the host's file, of several the
        first, "" where the profile has no files of its own.
        """
        from ..opening.open_file import host_of

        frame = self._results.hosts
        if self._reduced is not None:
            return frame
        paths = self._opened.paths
        of_host = {host_of(path): str(path) for path in reversed(paths)}
        only = str(paths[0]) if len(paths) == 1 else ""
        return frame.assign(path=frame["host"].map(lambda host: of_host.get(host, only)))

    @property
    def workers(self) -> pd.DataFrame:
        """One row per step that all hosts share and per host, by step, with the columns of `steps` and two more, see
        `Workers.frame`; empty without steps."""
        return self._results.workers.frame

    @property
    def stragglers(self) -> pd.DataFrame:
        """One row per host that holds the others up, the costliest first: `host, category, n_steps, n_aligned, excess_ms,
        cost_ms, cost_ratio`; see `compute_stragglers`. Empty where hosts are even, and with fewer than two."""
        return self._results.stragglers

    @property
    def communication(self) -> pd.DataFrame:
        """One row per host, kind and name of what was exchanged: `host, kind, name, occurrences, total_time_us,
        exposed_time_us, overlap_ratio, time_ratio, bytes, type`; see `compute_communication`. Hosts that train come first,
        then parameter servers and coordinators; the most exposed time leads each part."""
        return self._results.communication

    def aligned(self) -> Profile:
        """The same profile with the clocks of its hosts moved, so that the steps that they share end together.

        Hosts that train together end each step together, with the exchange of gradients; where the ends of their steps are
        apart, their clocks are. Each host's times are moved by the median of that. Hosts without shared steps, such as
        parameter servers, stay, and so do all where none waits for another: workers of parameter servers, and programs that
        train side by side. The files stay as they are: `save` of the result writes them as captured.

        Returns:
            A profile of its own; of a single host, where no step is shared, and where hosts exchange nothing, with the times as
            they are.
        """
        from dataclasses import replace

        from ..analysis.hosts.clock_shifts import with_clocks_shifted
        from .one_run import Profile

        shift_ps = self._results.workers.clocks.shift_ps
        if self._reduced is not None:
            moved = replace(self._reduced, results=_with_origins_moved(self._reduced, shift_ps))
            of_hosts = replace(self._opened, trace=moved.results.trace)
            return Profile(lambda: of_hosts, title=self.title, notices=self._notices, hosts=moved)
        opened = self._opened
        shifted = replace(opened, trace=with_clocks_shifted(opened.trace, shift_ps))
        return Profile(lambda: shifted, title=self.title, notices=self._notices)


def _with_origins_moved(reduced: ReducedHosts, shift_ps: Mapping[str, int]) -> ClusterResults:
    """The results of the hosts whose summaries begin earlier or later."""
    from dataclasses import replace

    from ..analysis.base.units import PS_PER_NS
    from ..analysis.cluster.cluster_results import merge_hosts

    summaries = reduced.results.summaries
    return merge_hosts(
        [
            replace(one, origin_ns=one.origin_ns + round(shift_ps.get(one.host, 0) / PS_PER_NS))
            if one.origin_ns
            else one
            for one in summaries
        ],
        source_map=reduced.results.source_map,
    )
