"""Executions of a loop, as many as it has turns, each have their own outputs and the inputs of their own turn."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.read import (
    FLOW_IN,
    FLOW_OUT,
    Maker,
    StepStats,
    TensorMakers,
    read_step_stats,
    read_timelines,
    step_message,
    step_trace,
)
from tfprof_widgets.trace import Trace

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
START_US = 10**15
N_TURNS = 3_000


def stats_of(rows: Iterable[tuple[str, str, int]], device: str = DEVICE) -> StepStats:
    """Executions `(name, label, start in us)` of one device."""
    message = step_message("StepStats")()
    one = message.dev_stats.add(device=device.encode())
    for name, label, start in rows:
        one.node_stats.add(
            node_name=name.encode(),
            timeline_label=label.encode(),
            all_start_micros=START_US + start,
            op_end_rel_micros=2,
        )
    return read_step_stats({0: message.SerializeToString()})


def arrows(trace: Trace) -> dict[int, list[int]]:
    """From the start of what took inputs, in us, to the starts of what made them."""
    stats = [trace.stats_of(i) for i in range(trace.n_events)]
    start = [int(trace.start_ps[i]) // 10**6 for i in range(trace.n_events)]
    made = {one[FLOW_OUT]: start[i] for i, one in enumerate(stats) if FLOW_OUT in one}
    return {
        start[i]: [made[int(flow)] for flow in str(one[FLOW_IN]).split()]
        for i, one in enumerate(stats)
        if one.get(FLOW_IN)
    }


def test_each_turn_of_a_loop_takes_what_the_last_one_before_it_made() -> None:
    rows = []
    for turn in range(N_TURNS):
        rows.append(("loop/a", "loop/a = Add(loop/b)", 6 * turn))
        rows.append(("loop/b", "loop/b = Mul(loop/a, loop/b)", 6 * turn + 3))
    found = arrows(step_trace(stats_of(rows)))
    at = 6 * (N_TURNS // 2)
    assert found[at] == [at - 3]
    assert found[at + 3] == [at, at - 3]
    assert found[0] == [3]  # nothing made it before: the next one did
    assert len(found) == 2 * N_TURNS


def best_of_all(makers: list[Maker], taker: Maker) -> int:
    """The rule, tried on every maker: near before far, before rather than after, then the closest, then the first."""
    best, best_key = -1, (False, False, 0)
    for other in makers:
        if other.row == taker.row or (taker.is_received and other.is_received):
            continue
        is_before = other.start_ps <= taker.start_ps
        is_near = (other.host == taker.host) != taker.is_received
        key = (is_near, is_before, other.start_ps if is_before else -other.start_ps)
        if best < 0 or key > best_key:
            best, best_key = other.row, key
    return best


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.booleans()), max_size=12))
def test_a_taker_has_the_maker_that_the_rule_gives(drawn: list[tuple[int, str, bool]]) -> None:
    makers = [Maker(i, *rest) for i, rest in enumerate(drawn)]
    index = TensorMakers(makers)
    takers = [*makers, Maker(99, 5, "a", False), Maker(99, 5, "a", True), Maker(99, 5, "x", False)]
    for taker in takers:
        assert index.source_of(taker) == best_of_all(makers, taker)


def looped_timeline(n_turns: int) -> bytes:
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"{DEVICE} {what}"}}
        for pid, what in ((1, "Compute"), (2, "Tensors"))
    ]
    for turn in range(n_turns):
        ts = START_US + 3 * turn
        args = {"name": "loop/a", "op": "Add"}
        events.append({"ph": "X", "cat": "Op", "name": "Add", "pid": 1, "tid": 0, "ts": ts, "dur": 2, "args": args})
        at = {"cat": "Tensor", "name": "loop/a:0", "pid": 2, "tid": 0, "id": turn}
        text = f'allocation_description {{ requested_bytes: {turn + 1} allocator_name: "cpu" }}'
        snapshot = {"snapshot": {"tensor_description": text}}
        events += [{"ph": "N", "ts": ts} | at, {"ph": "O", "ts": ts + 1, "args": snapshot} | at]
        events.append({"ph": "D", "ts": ts + 2} | at)
    return json.dumps({"traceEvents": events}).encode()


def test_each_turn_of_a_loop_in_a_timeline_has_the_tensor_that_it_made() -> None:
    found = read_timelines({0: ("timeline-0.json", looped_timeline(N_TURNS))})
    own = [[tensor.requested_bytes for tensor in one.outputs] for one in found.executions]
    assert own == [[turn + 1] for turn in range(N_TURNS)]
