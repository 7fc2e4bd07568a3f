"""Overlapping typed spans -> the non-overlapping composition of each step.

Source: semantics 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Int64, UInt8
from ..base.matching import moments_of, sum_by

_N_TYPES = 24


@dataclass(frozen=True)
class Pieces:
    """Pieces that tile each step without overlap, by step, then time."""

    step: Int64
    start_ps: Int64
    end_ps: Int64
    span_type: UInt8
    """A `SpanType` or a `Part`; 0 where nothing ran."""

    def total_ps(self, n_steps: int) -> Int64:
        """Time of each step in each type, shape (n_steps, number of types)."""
        total = sum_by(self.step * _N_TYPES + self.span_type, self.end_ps - self.start_ps, n_steps * _N_TYPES)
        return total.reshape(n_steps, _N_TYPES)


def resolve(
    step: Int64, start_ps: Int64, end_ps: Int64, span_type: UInt8, *, step_start_ps: Int64, step_end_ps: Int64
) -> Pieces:
    """Clip spans to their steps and give each instant to the largest type that is present.

    Args:
        step: index of the step each span belongs to.
        start_ps: start of each span.
        end_ps: end of each span.
        span_type: a `SpanType` from 1 to 11, or a `Part`, for each span.
        step_start_ps: start of each step.
        step_end_ps: end of each step.
    """
    start, end = np.maximum(start_ps, step_start_ps[step]), np.minimum(end_ps, step_end_ps[step])
    kept = start < end
    step, kind = step[kept], span_type[kept].astype(np.int64)
    since = step_start_ps[step]  # times within a step leave room for many steps in one number
    step, start, end, kind = _unite(step, start[kept] - since, end[kept] - since, kind)
    every, none = np.arange(len(step_start_ps)), np.zeros(len(step_start_ps), np.int64)
    at = np.concatenate([start, end, none, step_end_ps - step_start_ps])
    owner = np.concatenate([step, step, every, every])
    bit = np.left_shift(1, kind)
    change = np.concatenate([bit, -bit, none, none])
    order = np.argsort(moments_of((owner, at))[0], kind="stable")
    at, owner, present = at[order], owner[order], np.cumsum(change[order])
    at += step_start_ps[owner]
    inside = (owner[1:] == owner[:-1]) & (at[1:] > at[:-1])
    _, n_bits = np.frexp(present[:-1][inside])
    winner = np.maximum(n_bits - 1, 0).astype(np.uint8)
    return merged(owner[:-1][inside], at[:-1][inside], at[1:][inside], winner)


def _unite(step: Int64, start: Int64, end: Int64, kind: Int64) -> tuple[Int64, Int64, Int64, Int64]:
    """The union of the spans of each (step, type), as disjoint spans that do not touch."""
    if not len(step):
        return step, start, end, kind
    key = step * _N_TYPES + kind
    begin, stop = moments_of((key, start), (key, end))
    order = np.argsort(begin, kind="stable")
    reach = np.maximum.accumulate(stop[order])
    first = np.flatnonzero(np.append(True, begin[order][1:] > reach[:-1]))
    rows = order[first]
    return step[rows], start[rows], np.maximum.reduceat(end[order], first), kind[rows]


def merged(step: Int64, start: Int64, end: Int64, kind: UInt8) -> Pieces:
    """Join neighbours of one step and type."""
    if not len(step):
        return Pieces(step, start, end, kind)
    first = np.flatnonzero(np.append(True, (step[1:] != step[:-1]) | (kind[1:] != kind[:-1])))
    last = np.append(first[1:], len(step)) - 1
    return Pieces(step[first], start[first], end[last], kind[first])
