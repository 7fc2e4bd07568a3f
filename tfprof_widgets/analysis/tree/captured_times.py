"""Executions in a trace -> the tables `times` and `runs` of an `OpGraph`.

captured_times(facts, of_framework_op) -> columns      # self time by op, step and device
captured_runs(facts, of_framework_op) -> columns       # executions by op and step
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...trace.trace import Int32, Int64
from ..base.matching import all_matches, dense_codes, first_of
from ..base.units import PS_PER_US
from ..facts.facts import Facts


def captured_times(facts: Facts, of_framework_op: Int32) -> dict[str, Any]:
    """Self time in us, so that nothing counts twice, with the shares of ops that a compiled program fused."""
    trace, runs, shares = facts.trace, facts.occurrences, facts.op_shares
    step, plane = _steps(facts), trace.plane_id[runs.event]
    code, n = dense_codes(runs.op, step, plane)
    first = first_of(code, n)
    own_ps = np.bincount(code, runs.self_ps, n)
    start_ps = _lowest(code, runs.start_ps, n)
    group, share = all_matches(runs.op[first], shares.unit)
    op = of_framework_op[shares.op[share]]
    known = op >= 0
    group, op = group[known], op[known]
    own_us = own_ps[group] * shares.ratio[share[known]] / PS_PER_US
    keys, m = dense_codes(op, step[first][group], plane[first][group])
    row = first_of(keys, m)
    at = first[group[row]]
    several = len({one.host for one in trace.planes}) > 1
    names = np.array([f"{one.host}{one.name}" if several else one.name for one in trace.planes], np.object_)
    is_device = runs.is_device[runs.op[at]]
    return {
        "op": op[row],
        "step": step[at],
        "device": names[plane[at]],
        "is_accelerator": is_device,
        "start_us": _lowest(keys, start_ps[group], m) / PS_PER_US,
        "duration_us": np.bincount(keys, own_us, m),
    }


def captured_runs(facts: Facts, of_framework_op: Int32) -> dict[str, Any]:
    """How often each op ran in each step: in all as often as `prof.ops` says, of a device and its host the larger number.

    An op that several HLO ops stand for ran as often as the most frequent of these.
    """
    runs, shares = facts.occurrences, facts.op_shares
    unit, n_units = dense_codes(runs.op)
    first = first_of(unit, n_units)
    count = np.bincount(unit[runs.is_first], minlength=n_units)
    group, share = all_matches(runs.op[first], shares.unit)
    op = of_framework_op[shares.op[share]]
    order = np.lexsort((-count[group], op))
    order = order[op[order] >= 0]
    best = order[np.diff(op[order], prepend=-1) != 0]  # for each op what ran most often of what stands for it
    return _by_step(facts, group[best], op[best], unit)


def _by_step(facts: Facts, chosen: Int64, op: Int32, unit: Int64) -> dict[str, Any]:
    """The executions of the `chosen` units by step; several ops may share one."""
    runs = facts.occurrences
    code, n = dense_codes(unit, _steps(facts))
    first = first_of(code, n)
    start_ps, end_ps = _lowest(code, runs.start_ps, n), -_lowest(code, -(runs.start_ps + runs.duration_ps), n)
    order = np.argsort(unit[first], kind="stable")
    which, at = all_matches(chosen, unit[first][order])
    at = order[at]
    return {
        "op": op[which],
        "step": _steps(facts)[first[at]],
        "n_runs": np.bincount(code[runs.is_first], minlength=n)[at],
        "start_us": start_ps[at] / PS_PER_US,
        "end_us": end_ps[at] / PS_PER_US,
    }


def _steps(facts: Facts) -> Int64:
    """For each execution the row of its step, -1 for none."""
    return facts.steps.event_step[facts.occurrences.event].astype(np.int64)


def _lowest(code: Int64, value: Int64, n: int) -> Int64:
    low = np.full(n, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(low, code, value)
    return low
