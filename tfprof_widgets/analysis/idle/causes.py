"""What devices wait in -> what each wait is charged to; what a host did is looked at once, however many devices wait.

Source: semantics 3.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...trace.trace import Int64, UInt8
from ..base.matching import dense_codes, first_of
from ..steps.categories import CATEGORY_CODE, OWN, STEP_CATEGORIES, Part
from ..steps.idle_parts import HostWork, Waits, overlaps
from ..steps.step_pieces import Pieces, resolve


class Causes(NamedTuple):
    """A row for each cause of each wait."""

    wait: Int64
    """Row of `Waits`."""
    cause: Int64
    """Index into `STEP_CATEGORIES`."""
    start_ps: Int64
    """When it began to wait for that."""
    duration_ps: Int64
    """For how long it did."""

    def joined(self, other: Causes) -> Causes:
        """These, then those."""
        return Causes(*(np.concatenate(both) for both in zip(self, other, strict=True)))

    def of(self, wait: Int64) -> Causes:
        """The rows whose wait has a number from 0 on here, as rows of that number."""
        kept = np.flatnonzero(wait[self.wait] >= 0)
        return Causes(wait[self.wait[kept]], self.cause[kept], self.start_ps[kept], self.duration_ps[kept])


class _Windows(NamedTuple):
    """Disjoint windows of which spans of time consist that may overlap, by track, then time."""

    span: Int64
    """For each window one of the spans of its track."""
    start_ps: Int64
    end_ps: Int64
    first: Int64
    """For each span its first window."""
    stop: Int64
    """For each span the one after its last."""


def causes_of(work: HostWork, waits: Waits) -> Causes:
    """Charge waits of any number of devices to what `charge` charges them to.

    What the launching thread does is charged first; where that leaves it to the other threads, what those do.
    """
    own, other = np.flatnonzero(waits.line >= 0), np.flatnonzero(waits.line < 0)
    line, step = waits.line[own], waits.step[own]
    windows = _windows(waits.start_ps[own], waits.end_ps[own], line, step)
    thread, window = overlaps(
        work.line, work.start_ps, work.end_ps, line[windows.span], windows.start_ps, windows.end_ps
    )
    tiles = resolve(
        window,
        work.start_ps[thread],
        work.end_ps[thread],
        OWN[work.part[thread]],
        step_start_ps=windows.start_ps,
        step_end_ps=windows.end_ps,
    )
    is_left = tiles.span_type < Part.OWN_HOST_COMPUTE  # all that other threads do is below that
    left = np.flatnonzero(is_left)
    found = _by_steps(
        work.of_steps,
        part=np.concatenate([tiles.span_type[left], waits.part[other]]),
        step=np.concatenate([step[windows.span][tiles.step[left]], waits.step[other]]),
        start_ps=np.concatenate([tiles.start_ps[left], waits.start_ps[other]]),
        end_ps=np.concatenate([tiles.end_ps[left], waits.end_ps[other]]),
    )
    of_tile = _of_pieces(tiles).of(np.where(is_left, -1, np.arange(len(is_left))))
    of_tile = of_tile.joined(found.of(np.append(left, np.full(len(other), -1))))
    order = np.argsort(of_tile.wait, kind="stable")
    of_window = Causes(tiles.step[of_tile.wait[order]], *(column[order] for column in of_tile[1:]))
    return _added(of_window, windows).of(own).joined(found.of(np.append(np.full(len(left), -1), other)))


def _by_steps(work: Pieces, *, part: UInt8, step: Int64, start_ps: Int64, end_ps: Int64) -> Causes:
    """Charge spans of steps to what their hosts do, or to their part where that is larger."""
    windows = _windows(start_ps, end_ps, part, step)
    there, window = overlaps(
        work.step, work.start_ps, work.end_ps, step[windows.span], windows.start_ps, windows.end_ps
    )
    told = np.flatnonzero(part[windows.span] != Part.OTHER)
    pieces = resolve(
        np.concatenate([window, told]),
        np.concatenate([work.start_ps[there], windows.start_ps[told]]),
        np.concatenate([work.end_ps[there], windows.end_ps[told]]),
        np.concatenate([work.span_type[there], part[windows.span[told]]]),
        step_start_ps=windows.start_ps,
        step_end_ps=windows.end_ps,
    )
    return _added(_of_pieces(pieces)._replace(wait=pieces.step), windows)


def _of_pieces(pieces: Pieces) -> Causes:
    """The cause of each piece."""
    cause = CATEGORY_CODE[pieces.span_type].astype(np.int64)
    return Causes(np.arange(len(cause)), cause, pieces.start_ps, pieces.end_ps - pieces.start_ps)


def _windows(start_ps: Int64, end_ps: Int64, *track: Int64 | UInt8) -> _Windows:
    """Cut the time that spans cover, track by track, wherever one of them starts or ends."""
    code, n_tracks = dense_codes(*track)
    times, rank = np.unique(np.concatenate([start_ps, end_ps]), return_inverse=True)
    edges, place = np.unique(np.tile(code, 2) * len(times) + rank, return_inverse=True)
    starts, ends = np.split(place, 2)
    is_open = np.cumsum(np.bincount(starts, minlength=len(edges)) - np.bincount(ends, minlength=len(edges))) > 0
    at = np.flatnonzero(is_open)
    of_track, time = np.divmod(edges, max(len(times), 1))
    span = first_of(code, n_tracks)[of_track[at]]
    first, stop = (np.searchsorted(at, edge) for edge in (starts, ends))
    return _Windows(span, times[time[at]], times[time[at + 1]], first, stop)


def _added(causes: Causes, windows: _Windows) -> Causes:
    """The causes of windows, in order of these, added up by span."""

    def by_cause() -> Iterator[Causes]:
        for cause in range(len(STEP_CATEGORIES)):
            rows = np.flatnonzero(causes.cause == cause)
            low, high = (np.searchsorted(causes.wait[rows], at) for at in (windows.first, windows.stop))
            span = np.flatnonzero(high > low)
            total = np.append(0, np.cumsum(causes.duration_ps[rows]))
            spent = (total[high] - total[low])[span]
            yield Causes(span, np.full_like(span, cause), causes.start_ps[rows[low[span]]], spent)

    return Causes(*(np.concatenate(column) for column in zip(*by_cause(), strict=True)))
