"""Hosts: the hosts of one run as a table, each opened in full when asked for, and all of them on one clock."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ..analysis.cluster.cluster_results import ClusterResults
    from ..opening.many_hosts import HostFile, ReducedHosts
    from ..opening.opened import Opened
    from .one_run import Profile
    from .run import Run

MOST_OPEN = 4
"""So many hosts stay open; of more the one that was asked for longest ago is opened anew."""
_N_CLOSE = 3


class Hosts:
    """The hosts of a run: a table of them, and each as a profile of its own."""

    def __init__(self, run: Run, make: Callable[[Opened, str], Profile]) -> None:
        """`make` makes the profile of what was opened of one host, and of its name."""
        self._run = run
        self._make = make
        self._open: OrderedDict[str, Profile] = OrderedDict()

    @cached_property
    def table(self) -> pd.DataFrame:
        """Which hosts the profile has, and what each did in the training. `path` is the first file of a host, empty where
        the profile has none of its own.

        It always has a row for each host.
        """
        from ..opening.file_names import host_of

        frame = self._run.results.hosts
        if self._run.is_reduced:
            return frame
        paths = self._run.opened.paths
        of_host = {host_of(path): str(path) for path in reversed(paths)}
        only = str(paths[0]) if len(paths) == 1 else ""
        return frame.assign(path=frame["host"].map(lambda host: of_host.get(host, only)))

    def host(self, name: str) -> Profile | None:
        """One host in full; the last few are kept. None where the run has no other host.

        Raises:
            ValueError: no such host is in the run; the message names some that are.
            TraceError: its file cannot be read any more.
        """
        known = self._open.pop(name, None)
        if known is None:
            opened = self._whole_host(name)
            if opened is None:
                return None
            known = self._make(opened, name)
        self._open[name] = known
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return known

    def _whole_host(self, name: str) -> Opened | None:
        from ..trace.one_host import host_names

        reduced = self._run.reduced
        hosts = tuple(reduced.files) if reduced is not None else host_names(self._run.opened.trace)
        if name not in hosts:
            raise ValueError(_unknown(name, hosts))
        if reduced is not None:
            return _of_file(reduced.files[name], name)
        return None if len(hosts) == 1 else _part(self._run.opened, name)


def _of_file(file: HostFile, name: str) -> Opened:
    """The trace of a file, of the host that has this name in the whole profile."""
    from ..opening.many_hosts import open_host_file
    from ..trace.merging import with_host
    from ..trace.one_host import host_names, of_host

    opened = open_host_file(file)
    hosts = host_names(opened.trace)
    trace = of_host(opened.trace, name) if name in hosts else opened.trace
    return replace(opened, trace=trace if len(hosts) > 1 else with_host(trace, name))


def _part(opened: Opened, name: str) -> Opened:
    """What was opened of one host: its file once more, where one is called so, else its part of the trace."""
    from ..opening.file_names import SUFFIXES, host_of
    from ..opening.found import find
    from ..opening.many_hosts import host_file_list
    from ..trace.one_host import of_host

    own = [file for file in opened.paths if host_of(file) == name and file.name.endswith(SUFFIXES)]
    if len(own) == 1:
        return _of_file(host_file_list(find(own[0]))[0], name)
    return replace(opened, trace=of_host(opened.trace, name), others=(), saved=None)


def _unknown(name: str, hosts: tuple[str, ...]) -> str:
    import difflib

    close = difflib.get_close_matches(str(name), hosts, _N_CLOSE, cutoff=0.5)
    if close:
        return f"No host is called {name!r}. Is it {' or '.join(map(repr, close))}?"
    shown = ", ".join(map(repr, hosts[:_N_CLOSE]))
    more = f" and {len(hosts) - _N_CLOSE:,} more" if len(hosts) > _N_CLOSE else ""
    return f"No host is called {name!r}. The hosts are {shown}{more}."


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
