"""The hosts of what was opened: where each has its file, one of them in full, and all of them on one clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

import pandas as pd

from ..analysis.base.units import PS_PER_NS
from ..analysis.cluster.cluster_results import ClusterResults, merge_hosts
from ..analysis.hosts.clock_shifts import with_clocks_shifted
from ..trace.merging import with_host
from ..trace.one_host import host_names, of_host
from .file_names import SUFFIXES, host_of
from .found import find
from .many_hosts import HostFile, ReducedHosts, host_file_list, open_host_file
from .opened import Opened

_N_CLOSE = 3


def with_paths(hosts: pd.DataFrame, opened: Opened) -> pd.DataFrame:
    """The table of hosts with the first file of each as `path`."""
    paths = {host_of(path): str(path) for path in reversed(opened.paths)}
    only = str(opened.paths[0]) if len(opened.paths) == 1 else ""
    return hosts.assign(path=hosts["host"].map(lambda host: paths.get(host, only)))


def whole_host(opened: Opened, reduced: ReducedHosts | None, name: str) -> Opened | None:
    """One host in full; None where there is no other.

    Raises:
        ValueError: there is no such host; the message names some that are.
        TraceError: its file cannot be read any more.
    """
    hosts = tuple(reduced.files) if reduced is not None else host_names(opened.trace)
    if name not in hosts:
        raise ValueError(_unknown(name, hosts))
    if reduced is not None:
        return _of_file(reduced.files[name], name)
    return None if len(hosts) == 1 else _part(opened, name)


def _of_file(file: HostFile, name: str) -> Opened:
    """The trace of a file, of the host that has this name in the whole profile."""
    opened = open_host_file(file)
    hosts = host_names(opened.trace)
    trace = of_host(opened.trace, name) if name in hosts else opened.trace
    return replace(opened, trace=trace if len(hosts) > 1 else with_host(trace, name))


def _part(opened: Opened, name: str) -> Opened:
    """What was opened of one host: its file once more, where one is called so, else its part of the trace."""
    own = [file for file in opened.paths if host_of(file) == name and file.name.endswith(SUFFIXES)]
    if len(own) == 1:
        return _of_file(host_file_list(find(own[0]))[0], name)
    return replace(opened, trace=of_host(opened.trace, name), others=(), saved=None)


def _unknown(name: str, hosts: tuple[str, ...]) -> str:
    close = get_close_matches(str(name), hosts, _N_CLOSE, cutoff=0.5)
    if close:
        return f"No host is called {name!r}. Is it {' or '.join(map(repr, close))}?"
    shown = ", ".join(map(repr, hosts[:_N_CLOSE]))
    more = f" and {len(hosts) - _N_CLOSE:,} more" if len(hosts) > _N_CLOSE else ""
    return f"No host is called {name!r}. The hosts are {shown}{more}."


def on_one_clock(
    opened: Opened, reduced: ReducedHosts | None, shift_ps: Mapping[str, int]
) -> tuple[Opened, ReducedHosts | None]:
    """The same with the times of each host moved."""
    if reduced is None:
        return replace(opened, trace=with_clocks_shifted(opened.trace, shift_ps)), None
    moved = replace(reduced, results=_with_origins_moved(reduced, shift_ps))
    return replace(opened, trace=moved.results.trace), moved


def _with_origins_moved(reduced: ReducedHosts, shift_ps: Mapping[str, int]) -> ClusterResults:
    """The results of the hosts whose summaries begin earlier or later."""
    moved = []
    for one in reduced.results.summaries:
        origin_ns = one.trace.origin_ns
        if origin_ns:
            origin_ns += round(shift_ps.get(one.host, 0) / PS_PER_NS)
        moved.append(replace(one, trace=replace(one.trace, origin_ns=origin_ns)))
    return merge_hosts(moved, source_map=reduced.results.source_map)
