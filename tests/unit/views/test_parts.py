"""First pack and parts together give the browser exactly the events, stats, flows and tables that the analyses have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import event, line, plane, trace
from tests.packs import first_of, is_here
from tests.unit.views.received import Received, positions_of, receive
from tfprof_widgets.analysis import Analysis, compute_flows
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import Payload, counters, pack
from tfprof_widgets.show import payload as payload_module
from tfprof_widgets.trace import StatKind


@dataclass(frozen=True)
class Sent:
    """A trace and all that a browser gets of it."""

    results: Analysis
    payload: Payload
    got: Received


@pytest.fixture(scope="module", params=["keras_fit-whole", "keras_fit-in parts", "v100-in parts"])
def sent(request: pytest.FixtureRequest, capture_of: Callable[[str], Path]) -> Iterator[Sent]:
    """Payloads with everything in the first pack, and with next to nothing in it."""
    capture, _, way = request.param.partition("-")
    results = Analysis(read_xspace(capture_of(capture).read_bytes()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payload_module, "MAX_BYTES", 2**26)
        if way == "in parts":
            patch.setattr(counters, "TILE_EVENTS", 700)
            patch.setattr(pack, "PART_BYTES", 2**16 + 3000)
            patch.setattr(payload_module, "MAX_BYTES", 30_000)
        payload = Payload(results)
        assert ({"events", "stats"} <= is_here(payload)) == (way == "whole")
        yield Sent(results, payload, receive(payload))


def order_of(results: Analysis) -> np.ndarray:
    """The rows of the trace in the order of positions."""
    trace = results.trace
    return np.lexsort((np.arange(trace.n_events), trace.nesting.depth, trace.line_id))


def test_all_events_arrive_in_the_order_of_rows_with_their_own_values(sent: Sent) -> None:
    got, order, trace, results = sent.got, order_of(sent.results), sent.results.trace, sent.results
    for name, values in {
        "start_ps": trace.start_ps,
        "duration_ps": trace.duration_ps,
        "self_ps": trace.nesting.self_ps,
        "op": results.event_op,
        "step": results.steps.event_step,
    }.items():
        np.testing.assert_array_equal(got.events[name], values[order], err_msg=name)
    assert [got.text(name) for name in got.events["name"]] == [trace.strings[i] for i in trace.name_id[order]]
    rows = got.tables["rows"]
    np.testing.assert_array_equal(np.repeat(rows["line"], rows["n"]), trace.line_id[order])
    np.testing.assert_array_equal(np.repeat(rows["depth"], rows["n"]), trace.nesting.depth[order])


def test_all_stats_arrive_with_their_events(sent: Sent) -> None:
    got, trace = sent.got, sent.results.trace
    own = trace.stats.of(order_of(sent.results))
    assert [len(stats) for stats in got.stats] == own.n.tolist()
    want = [readable(trace, *one) for one in zip(own.key.tolist(), own.kind.tolist(), own.bits.tolist(), strict=True)]
    found = [
        (got.text(key), kind, got.text(bits) if kind == StatKind.STRING else bits)
        for stats in got.stats
        for key, kind, bits in stats
    ]
    assert found == want


def readable(trace: Any, key: int, kind: int, bits: int) -> tuple[str, int, Any]:
    strings = trace.strings
    value = strings[bits] if kind == StatKind.STRING else len(trace.blobs[bits]) if kind == StatKind.BYTES else bits
    return strings[key], kind, value


def test_all_flows_arrive_from_both_sides(sent: Sent) -> None:
    got, flows = sent.got, compute_flows(sent.results.trace)
    position = np.argsort(order_of(sent.results))
    want = sorted(
        zip(position[flows.from_event].tolist(), position[flows.to_event].tolist(), flows.kind.tolist(), strict=True)
    )
    for table, here in (("flows_out", "from"), ("flows_in", "to")):
        found = []
        for tile in got.tiles:
            columns = [tile[table][name].tolist() for name in ("from", "to", "kind")]
            assert set(tile[table][here].tolist()) <= set(positions_of(tile).tolist())
            assert (np.diff(tile[table][here].astype(np.int64)) >= 0).all()
            found += zip(*columns, strict=True)
        assert sorted(found) == want


def test_every_table_arrives_whole(sent: Sent) -> None:
    payload, got = sent.payload, sent.got
    for name, section in payload.sections.items():
        if name in got.tables:
            for column, (values, _) in section.build(slice(0, section.n_rows)).columns.items():
                np.testing.assert_array_equal(got.tables[name][column], values, err_msg=f"{name}.{column}")
        else:
            assert got.meta[name] == section.build(slice(None))
        is_found = name in is_here(payload) or not section.is_late or name in ("op_places", "hlo_ops")
        assert got.meta["sections"][name]["n_rows"] == (section.n_rows if is_found else 0)  # others: not yet known


def test_what_is_said_of_parts_is_what_can_be_asked_for(sent: Sent) -> None:
    payload, said = sent.payload, sent.got.meta["sections"]
    keys = {f"{name}:{k}" for name, state in said.items() for k in range(state["n_parts"])}
    assert {*payload.keys, *payload.first} - keys <= {"first:0", "sample:0", "counter_sample:0"}
    assert keys == {*payload.keys, *payload.first} & keys
    with pytest.raises(KeyError, match=r"no part 'events:99'.*events \("):
        payload.part("events:99")
    for key in ("events:-1", "events:", "nothing:0", "events:0:0", "window"):
        with pytest.raises(KeyError):
            payload.part(key)


def test_tiles_follow_each_other_and_hold_the_events_that_start_in_them(sent: Sent) -> None:
    got = sent.got
    counters = got.tables["tiles"]
    np.testing.assert_array_equal(counters["t1_ps"][:-1], counters["t0_ps"][1:])
    assert counters["t0_ps"][0] <= 0
    assert counters["t1_ps"][-1] > (got.events["start_ps"] + got.events["duration_ps"]).max()
    for k, tile in enumerate(got.tiles):
        start = tile["events"]["start_ps"]
        assert len(start) == counters["n"][k]
        assert ((start >= counters["t0_ps"][k]) & (start < counters["t1_ps"][k])).all()


def test_names_tell_how_many_events_they_have(sent: Sent) -> None:
    got, trace = sent.got, sent.results.trace
    count = dict(zip(got.meta["names"], got.tables["names"]["count"].tolist(), strict=True))
    ids, n = np.unique(trace.name_id, return_counts=True)
    assert {name: k for name, k in count.items() if k} == {
        trace.strings[i]: k for i, k in zip(ids.tolist(), n.tolist(), strict=True)
    }


def test_an_empty_trace_has_a_payload_too() -> None:
    got: Received = receive(Payload(Analysis(trace(plane("/host:CPU")))))
    assert (got.n_events, got.meta["tiles"], got.meta["overview"]["verdict"] != "") == (0, 0, True)
    assert "sample" not in got.tables


def test_bytes_in_a_stat_travel_as_their_length() -> None:
    drawn = trace(plane("/host:CPU", line("main", *(event("x", i, 1, raw=b"b" * (i + 1), n=9) for i in range(5)))))
    got = receive(Payload(Analysis(drawn)))
    assert [[bits for _, _, bits in stats] for stats in got.stats] == [[n, 9] for n in range(1, 6)]


def test_the_details_of_an_event_have_what_its_metadata_tells_of_all_of_its_kind() -> None:
    told = event("fusion", 0, 1, metadata_stats={"hlo_category": "loop fusion", "flops": 7}, a=9)
    results = Analysis(trace(plane("/device:TPU:0", line("XLA Ops", told, event("plain", 5, 1, a=1)))))
    meta, tables = first_of(Payload(results))
    n = tables["stat_counts:0"]["n"].tolist()
    names = [meta["names"][key] for key in tables["stats:0"]["key"].tolist()]
    assert (n, names) == ([3, 1], ["hlo_category", "flops", "a", "a"])
    assert tables["stats:0"]["bits"][1:].tolist() == [7, 9, 1]
