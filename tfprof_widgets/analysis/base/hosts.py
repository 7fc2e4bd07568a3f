"""Planes of a trace -> its hosts, and which of them recorded what."""

from __future__ import annotations

import numpy as np

from ...trace.trace import Int64, Trace


def hosts_of(trace: Trace) -> tuple[str, ...]:
    """The hosts of a trace, in its order."""
    return tuple(dict.fromkeys(plane.host for plane in trace.planes))


def host_of_plane(trace: Trace) -> Int64:
    """For each plane its host, an index into `hosts_of`."""
    row = {host: i for i, host in enumerate(hosts_of(trace))}
    return np.array([row[plane.host] for plane in trace.planes], np.int64)
