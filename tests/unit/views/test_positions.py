"""The order of events in the browser, their tiles, and the sample that stands for tiles that have not come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import Event, aggregated, event, line, plane, trace
from tfprof_widgets.analysis import Flows
from tfprof_widgets.show import (
    FlowTiles,
    Positions,
    Tiles,
    compute_positions,
    compute_tiles,
    line_numbers,
    longest_of_runs,
    sample_events,
)
from tfprof_widgets.show import counters as positions_module
from tfprof_widgets.show import counters as tiles_module
from tfprof_widgets.trace import Trace, ranges

lines_of_events = st.lists(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 25)), max_size=25), min_size=1, max_size=5
)


def drawn(lines: list[list[tuple[int, int]]]) -> Trace:
    return trace(plane("/host:CPU", *(line("t", *(Event("a", at, lasts) for at, lasts in one)) for one in lines)))


def reference_order(drawing: Trace) -> np.ndarray:
    return np.lexsort((np.arange(drawing.n_events), drawing.nesting.depth, drawing.line_id))


def ends_in_rows(drawing: Trace, positions: Positions) -> np.ndarray:
    """Ends by position, cut where the next event of the row starts, as the browser draws them."""
    start, end = drawing.start_ps[positions.order], drawing.end_ps[positions.order].copy()
    row = np.repeat(np.arange(positions.n_rows), np.diff(positions.row_offsets))
    follows = np.flatnonzero(row[1:] == row[:-1])
    end[follows] = np.minimum(end[follows], start[follows + 1])
    return end


def filled_rows(drawing: Trace, positions: Positions) -> list[int]:
    """Whether children fill their parents, row by row and event by event."""
    nesting = drawing.nesting
    has_child = set(nesting.parent.tolist())
    found = []
    for row in range(positions.n_rows):
        has_next = row + 1 < positions.n_rows and positions.row_line[row + 1] == positions.row_line[row]
        own = positions.order[slice(*positions.row_offsets[row : row + 2])].tolist()
        inner = positions.order[slice(*positions.row_offsets[row + 1 : row + 3])] if has_next else []
        parents = sum(int(nesting.span_ps[event]) for event in own if event in has_child)
        found.append(int(has_next and int(nesting.span_ps[inner].sum()) >= 0.95 * parents))
    return found


@settings(max_examples=30, deadline=None)
@given(lines_of_events, st.sampled_from([1, 8, 2**20]))
def test_rows_are_runs_of_positions_in_the_order_of_line_depth_and_start(
    lines: list[list[tuple[int, int]]], block: int
) -> None:
    drawing = drawn(lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positions_module, "_POSITION_BLOCK", block)
        positions = compute_positions(drawing)
    order = reference_order(drawing)
    np.testing.assert_array_equal(positions.order, order)
    counts = np.diff(positions.row_offsets)
    assert (counts > 0).all()
    np.testing.assert_array_equal(np.repeat(positions.row_line, counts), drawing.line_id[order])
    np.testing.assert_array_equal(np.repeat(positions.row_depth, counts), drawing.nesting.depth[order])
    assert positions.row_is_filled.tolist() == filled_rows(drawing, positions)
    np.testing.assert_array_equal(order[positions.of_trace_rows(drawing.n_events)], np.arange(drawing.n_events))


def test_only_what_travels_has_a_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions_module, "MAX_LINES", 2)
    monkeypatch.setattr(positions_module, "MAX_ROWS", 4)
    drawing = drawn([[(0, 30), (1, 20), (2, 10)], [(0, 1)], [(0, 90), (1, 80), (2, 70), (3, 1)]])
    positions = compute_positions(drawing)
    assert positions.lines.tolist() == [0, 2]
    assert positions.order.tolist() == [0, 1, 4, 5]
    assert positions.row_is_filled.tolist() == [0, 0, 0, 0]
    assert positions.of_trace_rows(drawing.n_events).tolist() == [0, 1, -1, -1, 2, 3, -1, -1]
    assert line_numbers(drawing, positions.lines).tolist() == [0, 2, 1]


def test_aggregated_events_and_empty_lines_have_their_place() -> None:
    drawing = trace(
        plane("/host:CPU", line("none"), line("m", aggregated("a", 5, 9), event("b", 0, 5), event("c", 1, 2)))
    )
    positions = compute_positions(drawing)
    assert positions.n_events == 3
    assert positions.row_line.tolist() == [1, 1]
    assert compute_positions(trace(plane("/host:CPU", line("none")))).n_rows == 0
    assert compute_positions(trace(hostnames=["box"])).n_rows == 0


@settings(max_examples=30, deadline=None)
@given(lines_of_events, st.integers(1, 9))
def test_each_event_lies_in_one_tile_and_those_that_cross_an_edge_are_found(
    lines: list[list[tuple[int, int]]], n: int
) -> None:
    tiles = tiled(drawn(lines), n)
    drawing, positions = tiles.trace, tiles.positions
    seen = np.concatenate([np.empty(0, np.int64), *(tiles.positions_in(k) for k in range(tiles.n))])
    assert sorted(seen.tolist()) == list(range(positions.n_events))
    for k in range(tiles.n):
        start = drawing.start_ps[positions.order[tiles.positions_in(k)]]
        assert ((start >= tiles.edges_ps[k]) & (start < tiles.edges_ps[k + 1])).all()
    assert tiles.counts().tolist() == [len(tiles.positions_in(k)) for k in range(tiles.n)]
    start, end = drawing.start_ps[positions.order], ends_in_rows(drawing, positions)
    crosses = [p for p in range(len(start)) if any(start[p] < edge < end[p] for edge in tiles.edges_ps[1:-1])]
    assert set(crosses) <= set(tiles.crossing().tolist())
    assert (np.diff(tiles.crossing()) > 0).all()


def tiled(drawing: Trace, n: int) -> Tiles:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles_module, "TILE_EVENTS", n)
        return compute_tiles(drawing, compute_positions(drawing), (0.0, 0.0))


def test_tiles_are_of_much_the_same_size() -> None:
    # Bursts with long pauses between them.
    tiles = tiled(drawn([[(10**6 * (i // 100) + i, 1) for i in range(4000)] for _ in range(3)]), 1000)
    assert tiles.n == 12
    assert all(900 <= n <= 1100 for n in tiles.counts())


def test_times_beyond_what_a_double_holds_keep_tiles_and_starts_consistent() -> None:
    late = 10**16 + 1
    tiles = tiled(drawn([[(late + i, 1) for i in range(50)]]), 5)
    assert int(tiles.counts().sum()) == 50
    for k in range(tiles.n):
        start = tiles.trace.start_ps[tiles.positions.order[tiles.positions_in(k)]].astype(np.float64)
        assert ((start >= tiles.edges_ps[k]) & (start < tiles.edges_ps[k + 1])).all()


def test_a_span_overlaps_the_tiles_that_hold_its_ends() -> None:
    tiles = tiled(drawn([[(10 * i, 1) for i in range(100)]]), 25)
    low, high = tiles.overlapping((float(tiles.edges_ps[1]), float(tiles.edges_ps[3])))
    assert (low, high) == (1, 3)
    assert tiles.overlapping((float(tiles.edges_ps[0]), float(tiles.edges_ps[-1]))) == (0, tiles.n)
    assert tiles.overlapping((5.0, 5.0)) == (0, 1)
    assert tiled(drawn([[]]), 5).overlapping((0.0, 1.0)) == (0, 0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=12))
def test_ranges_are_the_numbers_one_after_the_other(parts: list[tuple[int, int]]) -> None:
    start, length = np.array([a for a, _ in parts], np.int64), np.array([n for _, n in parts], np.int64)
    assert ranges(start, length).tolist() == [a + i for a, n in parts for i in range(n)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30))
def test_of_each_run_the_first_longest_is_kept(pairs: list[tuple[int, int]]) -> None:
    pairs = sorted(pairs, key=lambda pair: pair[0])
    best: dict[int, int] = {}
    for i, (key, duration) in enumerate(pairs):
        if key not in best or duration > pairs[best[key]][1]:
            best[key] = i
    key, duration = np.array([k for k, _ in pairs], np.int64), np.array([d for _, d in pairs], np.int64)
    assert longest_of_runs(key, duration).tolist() == sorted(best.values())


def crowd() -> Tiles:
    """Two threads of 20,000 short events, some of them long, and one with a single event."""
    dense = [[(100 * i, 90 if i % 50 == 0 else 3) for i in range(20_000)] for _ in range(2)]
    return tiled(drawn([*dense, [(5, 1)]]), 10_000)


def test_a_sample_keeps_every_row_the_longest_events_and_those_across_edges() -> None:
    tiles = crowd()
    sample = sample_events(tiles, (0.0, 1000.0), n_wanted=900)
    assert (np.diff(sample) > 0).all()
    assert 400 <= len(sample) <= 900 + len(tiles.crossing())
    rows = np.searchsorted(tiles.positions.row_offsets, sample, side="right") - 1
    assert set(rows.tolist()) == set(range(tiles.positions.n_rows))
    assert set(tiles.crossing().tolist()) <= set(sample.tolist())
    duration = tiles.trace.duration_ps[tiles.positions.order]
    bins = tiles.trace.start_ps[tiles.positions.order] // 40_000
    for row in (0, 1):
        of_row = np.arange(*tiles.positions.row_offsets[row : row + 2])
        for b in range(int(bins.max())):
            inside = of_row[bins[of_row] == b]
            kept = np.intersect1d(inside, sample)
            assert duration[kept].max() == duration[inside].max()


def test_a_sample_is_exact_where_the_reader_looks_first() -> None:
    tiles = crowd()
    home = (1_000_000.0, 1_005_000.0)
    start = tiles.trace.start_ps[tiles.positions.order]
    near = np.flatnonzero((start >= home[0]) & (start < home[1]))
    assert len(near) == 100
    assert set(near.tolist()) <= set(sample_events(tiles, home, n_wanted=900).tolist())


def test_a_sample_is_the_same_however_few_events_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    tiles = crowd()
    whole = sample_events(tiles, (1_000_000.0, 1_005_000.0), n_wanted=900)
    monkeypatch.setattr("tfprof_widgets.show.counters._BLOCK_EVENTS", 777)
    np.testing.assert_array_equal(sample_events(tiles, (1_000_000.0, 1_005_000.0), n_wanted=900), whole)


def test_of_more_rows_than_wanted_the_longest_events_are_kept() -> None:
    tiles = tiled(drawn([[(0, 10 + i)] for i in range(300)]), 100)
    sample = sample_events(tiles, (0.0, 1.0), n_wanted=20)
    assert len(sample) <= 40
    assert 299 in sample


def test_a_sample_of_a_small_trace_is_the_trace() -> None:
    tiles = crowd()
    np.testing.assert_array_equal(sample_events(tiles, (0.0, 1.0), n_wanted=10**6), np.arange(40_001))


def test_the_first_tile_begins_with_the_earliest_event_however_few_starts_were_looked_at() -> None:
    later = [
        line("t", event("a", 0, 1)),
        line("t", event("a", -20, 1)),
        line("t", *(event("a", i, 1) for i in range(3000))),
    ]
    drawing = trace(plane("/host:CPU", *later))
    tiles = compute_tiles(drawing, compute_positions(drawing), (0.0, 0.0))
    assert tiles.edges_ps[0] == drawing.start_ps.min() < 0


def tiles() -> FlowTiles:
    flows = Flows(
        from_event=np.array([0, 0, 3, 4], np.int32),
        to_event=np.array([2, 1, 1, 2], np.int32),
        kind=np.array([0, 1, 2, 3], np.uint8),
    )
    return FlowTiles(flows, position=np.array([4, 3, 2, 1, -1]), tile=np.array([0, 1, 1, 0, 0]), n_tiles=2)


def columns(tile: int, name: str) -> dict[str, list[int]]:
    return {column: values.tolist() for column, (values, _) in tiles().tables(tile)[name].columns.items()}


def test_what_an_event_started_lies_in_its_own_tile_by_position() -> None:
    assert columns(0, "flows_out") == {"from": [1, 4, 4], "to": [3, 2, 3], "kind": [2, 0, 1]}
    assert columns(1, "flows_out") == {"from": [], "to": [], "kind": []}


def test_what_started_an_event_lies_in_the_tile_of_that_event() -> None:
    assert columns(0, "flows_in") == {"to": [], "from": [], "kind": []}
    assert columns(1, "flows_in") == {"to": [2, 3, 3], "from": [4, 1, 4], "kind": [0, 2, 1]}


def test_flows_to_events_that_are_not_sent_are_counted() -> None:
    assert tiles().n_left_out == 1
