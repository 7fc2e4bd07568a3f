"""Flows by tile: each end finds the other, in the tile in which it lies."""

from __future__ import annotations

import numpy as np

from tfprof_widgets.analysis import Flows
from tfprof_widgets.show import FlowTiles


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
