"""Tensors lie on lanes on which they nest, on as many as one can look at."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.read import MOST_LANES, StepStats, TensorLife, nested_lanes, step_trace

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40)


def first_fit(spans: list[tuple[int, int]]) -> list[int]:
    """The lowest lane in which each span overlaps no other one that does not enclose it."""
    lanes: list[list[tuple[int, int]]] = []
    found = []
    for begin, end in spans:
        fits = (all(stop <= begin or end <= stop for _, stop in lane) for lane in lanes)
        lane = next((i for i, fit in enumerate(fits) if fit), len(lanes))
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append((begin, end))
        found.append(lane)
    return found


@given(SPANS)
def test_a_span_is_on_the_lowest_lane_on_which_it_nests(drawn: list[tuple[int, int]]) -> None:
    spans = sorted(((begin, begin + length) for begin, length in drawn), key=lambda span: (span[0], -span[1]))
    assert nested_lanes([span[0] for span in spans], [span[1] for span in spans]) == first_fit(spans)


def test_many_tensors_that_overlap_are_on_some_lanes() -> None:
    n = 20_000
    lanes = nested_lanes(list(range(n)), list(range(n, 2 * n)))
    assert lanes[:MOST_LANES] == list(range(MOST_LANES))
    assert lanes[MOST_LANES:] == [-1] * (n - MOST_LANES)


def test_tensors_that_no_lane_takes_are_told() -> None:
    n = MOST_LANES + 20
    device = "/job:localhost/replica:0/task:0/device:CPU:0"
    stats = StepStats()
    stats.tensors.extend(TensorLife(0, device, f"t{i}", 10 + i, 1000 + i, "float", "[1]", 4, "cpu") for i in range(n))
    trace = step_trace(stats)
    assert len(trace.lines) == MOST_LANES
    assert trace.n_events == MOST_LANES
    assert [text for text in trace.warnings if f"{MOST_LANES} of {n} tensors" in text and device in text]
