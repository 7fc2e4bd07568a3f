"""ProfileHosts: the hosts of one profile, each opened in full when asked for."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ..opening.many_hosts import HostFile, ReducedHosts
    from ..opening.opened import Opened
    from .one_run import Profile

MOST_OPEN = 4
"""So many hosts stay open; of more the one that was asked for longest ago is opened anew."""
_N_CLOSE = 3


class ProfileHosts:
    """The part of a `Profile` that opens single hosts."""

    _reduced: ReducedHosts | None

    @cached_property
    def _open_hosts(self) -> OrderedDict[str, Profile]:
        return OrderedDict()

    @property
    def _opened(self) -> Opened:
        """The files that the profile came from."""
        raise NotImplementedError

    @property
    def is_reduced(self) -> bool:
        """Whether the hosts were too many to keep all their events: tables are of the whole capture, the timeline has each
        host's steps and longest events, and `host(name)` opens one in full."""
        return self._reduced is not None

    def host(self, name: str) -> Profile:
        """Open one host in full: a profile of its own, with all its events. The last few are kept.

        Args:
            name: as in the `host` columns.

        Raises:
            ValueError: no such host is in the profile; the message names some that are.
            TraceError: its file cannot be read any more.
        """
        known = self._open_hosts.pop(name, None) or self._whole_host(name)
        if cast(object, known) is self:
            return known
        self._open_hosts[name] = known
        if len(self._open_hosts) > MOST_OPEN:
            self._open_hosts.popitem(last=False)
        return known

    def _whole_host(self, name: str) -> Profile:
        from ..trace.one_host import host_names
        from .one_run import Profile

        hosts = tuple(self._reduced.files) if self._reduced is not None else host_names(self._opened.trace)
        if name not in hosts:
            raise ValueError(_unknown(name, hosts))
        if self._reduced is not None:
            file = self._reduced.files[name]
            opened = _of_file(file, name)
            return Profile(lambda: opened, title=name)
        if len(hosts) == 1:
            return cast("Profile", self)
        part = _part(self._opened, name)
        return Profile(lambda: part, title=name)


def _of_file(file: HostFile, name: str) -> Opened:
    """The trace of a file, of the host that has this name in the whole profile."""
    from dataclasses import replace

    from ..opening.many_hosts import open_host_file
    from ..trace.merging import with_host
    from ..trace.one_host import host_names, of_host

    opened = open_host_file(file)
    hosts = host_names(opened.trace)
    trace = of_host(opened.trace, name) if name in hosts else opened.trace
    return replace(opened, trace=trace if len(hosts) > 1 else with_host(trace, name))


def _part(opened: Opened, name: str) -> Opened:
    """What was opened of one host: its file once more, where one is called so, else its part of the trace."""
    from dataclasses import replace

    from ..opening.many_hosts import host_file_list
    from ..opening.open_file import SUFFIXES, host_of
    from ..trace.one_host import of_host

    own = [file for file in opened.paths if host_of(file) == name and file.name.endswith(SUFFIXES)]
    if len(own) == 1:
        return _of_file(host_file_list(own)[0], name)
    return replace(opened, trace=of_host(opened.trace, name), others=(), saved=None)


def _unknown(name: str, hosts: tuple[str, ...]) -> str:
    import difflib

    close = difflib.get_close_matches(str(name), hosts, _N_CLOSE, cutoff=0.5)
    if close:
        return f"No host is called {name!r}. Is it {' or '.join(map(repr, close))}?"
    shown = ", ".join(map(repr, hosts[:_N_CLOSE]))
    more = f" and {len(hosts) - _N_CLOSE:,} more" if len(hosts) > _N_CLOSE else ""
    return f"No host is called {name!r}. The hosts are {shown}{more}."
