"""What of a trace travels to the browser: packs, the first pack, and the parts after it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.builders import Event, Plane, event, line, plane, session, space, trace
from tests.cluster import BARE, FULL, Cluster, write_two_hosts
from tests.packs import first_of, is_here, unpack
from tests.unit.views.received import Received, positions_of, receive
from tests.unit.views.repeated import repeated
from tests.vector_drawings import coded_tables
from tfprof_widgets.analysis import Analysis, compute_flows, input_words, merge_hosts, summarize_host
from tfprof_widgets.read import open_traces, read_xspace
from tfprof_widgets.show import (
    MAX_BYTES,
    PART_BYTES,
    Payload,
    Section,
    Table,
    TableCoder,
    as_text,
    compute_positions,
    counters,
    meta_of,
    pack,
    pack_bytes,
)
from tfprof_widgets.show import payload as payload_module
from tfprof_widgets.show import tables as event_tables
from tfprof_widgets.show import tables as names_module
from tfprof_widgets.trace import StatKind, Trace


@given(
    times=hnp.arrays(np.int64, st.integers(0, 50), elements=st.integers(-(2**53), 2**53)),
    text=st.text(max_size=30),
)
def test_a_pack_gives_back_its_meta_and_columns(times: np.ndarray, text: str) -> None:
    flags = np.arange(len(times), dtype=np.int64) % 2
    table = Table({"time_ps": (times, "f8"), "flag": (flags, "u1"), "bits": (times.view(np.uint64), "u8")})
    meta, tables = unpack(pack_bytes({"text": text}, {"events": table}))
    assert meta == {"text": text}
    np.testing.assert_array_equal(tables["events"]["time_ps"], times)
    np.testing.assert_array_equal(tables["events"]["flag"], flags)
    np.testing.assert_array_equal(tables["events"]["bits"], times.view(np.uint64))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.array([2**53 + 1]), "f8"),
        (np.array([-1]), "u1"),
        (np.array([256]), "u1"),
        (np.array([2**31]), "i4"),
        (np.array([0.1]), "f4"),
        (np.array([0.5]), "i4"),
    ],
)
def test_a_column_that_does_not_fit_its_wire_type_is_refused_by_name(values: np.ndarray, dtype: str) -> None:
    with pytest.raises(TypeError, match="'start_ps'.*without loss"):
        Table({"start_ps": (values, dtype)})


def test_nan_travels_as_nan() -> None:
    _, tables = unpack(pack_bytes({}, {"t": Table({"x": (np.array([np.nan, 1.0]), "f8")})}))
    np.testing.assert_array_equal(tables["t"]["x"], [np.nan, 1.0])


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(TypeError, match="differ in length"):
        Table({"a": (np.zeros(2), "f8"), "b": (np.zeros(3), "f8")})


N = 200
_WHOLE = st.integers(-(2**53), 2**53)
_DOUBLES = st.floats(width=64) | st.sampled_from([0.0, -0.0, float("nan"), float("inf"), 2.0**53, -(2.0**53), 2.0**60])


@given(
    first=hnp.arrays(np.int64, N, elements=_WHOLE),
    second=hnp.arrays(np.int64, N, elements=_WHOLE | st.integers(0, 3)),
    double=hnp.arrays(np.float64, N, elements=_DOUBLES),
    number=hnp.arrays(np.int32, N),
    bits=hnp.arrays(np.uint64, N),
)
def test_every_column_comes_back_bit_for_bit(
    first: np.ndarray, second: np.ndarray, double: np.ndarray, number: np.ndarray, bits: np.ndarray
) -> None:
    times = np.cumsum(second % 1000)
    columns = {
        "start_ps": (times, "f8"),
        "duration_ps": (second, "f8"),
        "self_ps": (first, "f8"),
        "ratio": (double, "f8"),
        "name": (number, "i4"),
        "bits": (bits, "u8"),
    }
    table = Table(columns)
    _, tables = unpack(pack_bytes({}, {"events": table}))
    assert set(tables["events"]) == set(columns)
    for name, (values, _) in table.columns.items():
        assert tables["events"][name].tobytes() == values.tobytes(), name


def codes(table: Table) -> dict[str, str]:
    return {name: code["base"] if code else "" for name, _, code, _ in TableCoder(table.columns).coded()}


def test_each_column_gets_the_base_that_tells_most_of_it() -> None:
    expected = {"neighbours": "gap", "counted": "delta", "few": "plain", "same": "less", "fractions": "bits"}
    found = {name: codes(Table(columns)) for name, columns in coded_tables().items()}
    decimals = found.pop("decimals")
    assert set(decimals.values()) <= {"plain", "delta"}
    assert {name: set(one.values()) & {base} for name, base in expected.items() for one in [found[name]]} == {
        name: {base} for name, base in expected.items()
    }


def test_what_another_column_tells_takes_no_bytes() -> None:
    rng = np.random.default_rng(0)
    duration = rng.integers(0, 10**9, 5000) * 1000
    alone = pack_bytes({}, {"t": Table({"duration_ps": (duration, "f8")})})
    end = np.cumsum(duration)
    both = {"duration_ps": (duration, "f8"), "self_ps": (duration, "f8"), "start_ps": (end - duration, "f8")}
    assert len(pack_bytes({}, {"t": Table(both)})) < len(alone) + 200
    # Multiples of 1000 of 30 binary digits: 4 bytes of 8.
    assert len(alone) < 0.55 * duration.nbytes


@pytest.mark.parametrize("n", [0, 1, 63])
def test_a_short_table_is_not_coded(n: int) -> None:
    assert set(codes(Table({"time_ps": (np.arange(n), "f8"), "ratio": (np.arange(n) / 3, "f8")})).values()) == {""}


@pytest.mark.parametrize("values", [np.full(N, -0.0), np.full(N, np.nan), np.arange(N) / 7, np.full(N, 2.0**60)])
def test_numbers_that_no_browser_counts_keep_their_bits(values: np.ndarray) -> None:
    assert codes(Table({"x": (values, "f8")}))["x"] in ("", "bits")


def test_a_sum_that_a_browser_cannot_reach_is_no_base() -> None:
    values = np.tile([2**53, 1 - 2**53], N)
    table = Table({"x": (values, "f8")})
    assert codes(table)["x"] in ("", "bits")
    np.testing.assert_array_equal(unpack(pack_bytes({}, {"t": table}))[1]["t"]["x"], values)


N_MANY = 300
"""Hosts of the larger run; the first pack has to leave some of it to parts."""


def section(payload: Payload, name: str) -> dict[str, np.ndarray]:
    found = payload.sections[name]
    assert isinstance(found, Section)
    return {key: np.asarray(values) for key, (values, _) in found.build(slice(0, found.n_rows)).columns.items()}


def meta(payload: Payload) -> dict[str, Any]:
    return payload.meta


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = write_two_hosts(tmp_path_factory.mktemp("wire_two_hosts"))
    return [open_traces(file).trace for file in sorted(folder.glob("*.xplane.pb"))]


@pytest.fixture(scope="module", params=["whole", "reduced"])
def results(request: pytest.FixtureRequest, traces: list[Any]) -> Analysis:
    from tfprof_widgets.trace import merge_traces

    if request.param == "whole":
        return Analysis(merge_traces(traces))
    return merge_hosts([summarize_host(Analysis(one)) for one in traces])


def test_the_meta_object_names_hosts_and_roles(results: Analysis) -> None:
    told = meta(Payload(results))
    assert told["hosts"] == [FULL, BARE]
    assert told["host_roles"] == ["worker", "coordinator"]
    assert told["is_summed"] is not results.has_events
    json.dumps(told)


def test_the_meta_object_says_whether_any_host_recorded_memory(results: Analysis) -> None:
    assert meta(Payload(results))["n_allocators"] == len(results.memory.allocators) > 0
    content = dict(Cluster(1).files())["worker0000"]
    nothing = merge_hosts([summarize_host(Analysis(read_xspace(content)))])
    assert meta(Payload(nothing))["n_allocators"] == 0


def test_steps_name_their_host(results: Analysis) -> None:
    payload = Payload(results)
    hosts = [meta(payload)["hosts"][i] for i in section(payload, "steps")["host"].tolist()]
    assert hosts == results.steps.frame["host"].tolist()


def test_one_host_has_no_totals_host_by_host() -> None:
    content = space(session(), plane("/host:CPU", line("main", event("net/op:MatMul", 0, 5))), hostnames=["a"])
    payload = Payload(Analysis(read_xspace(content)))
    assert "host_totals" not in payload.sections
    assert meta(payload)["hosts"] == ["a"]
    assert meta(payload)["is_summed"] is False


def test_hundreds_of_hosts_fit_the_first_pack_and_parts(tmp_path: Path) -> None:
    run = Cluster(2).draw(tmp_path)
    typical = summarize_host(Analysis(open_traces(run / "worker0000.xplane.pb").trace))
    payload = Payload(merge_hosts([typical.renamed(f"worker{i:04d}") for i in range(N_MANY)]))
    assert sum(map(len, payload.first.values())) <= MAX_BYTES
    assert len(meta(payload)["hosts"]) == N_MANY
    assert all(len(payload.part(key)) <= 4 * 2**20 for key in payload.keys)


def test_the_meta_object_has_the_verdict_and_the_category_and_work_of_each_input_op(
    capture_of: Callable[[str], Path],
) -> None:
    results = Analysis(read_xspace(capture_of("keras_fit").read_bytes()))
    meta = meta_of(results, compute_positions(results.trace), title="")["input"]
    assert meta["verdict"] == input_words(results.overview, "")
    ops = results.input_pipeline.ops
    assert [one[:3] for one in meta["ops"]] == ops[["op", "category", "work_time_ms"]].to_numpy().tolist()
    iterators = results.input_pipeline.iterators
    assert sum(one[2] for one in meta["ops"]) == pytest.approx(iterators["self_time_ms"].sum())
    # What the averaged steps did is a part of that.
    assert all(0 <= one[3] <= one[2] * (1 + 1e-9) for one in meta["ops"])
    np.testing.assert_allclose(ops["work_time_ms"] + ops["waiting_time_ms"], ops["total_time_ms"])
    prefetch = ops.set_index("op").loc["Iterator::Root::Prefetch"]
    assert prefetch["work_time_ms"] < 0.1 * prefetch["self_time_ms"] < prefetch["waiting_time_ms"]


CPU = "/host:CPU"
N_STEPS = 200
MIB = 2**20


@pytest.fixture(scope="module")
def drawn() -> Trace:
    """200 steps of 10 us on one thread, each with a MatMul that carries a stat, and one long event on another."""
    steps = [
        e
        for i in range(N_STEPS)
        for e in (event("train", 10 * i, 9, _r=1, step_num=i), event("a/foo:MatMul", 10 * i + 2, 4, flops=i))
    ]
    return trace(plane(CPU, line("main", *steps, id=1), line("other", event("Long", 5, 1500), id=2)))


def test_a_small_trace_travels_in_the_first_pack_but_for_what_takes_long_to_find(drawn: Trace) -> None:
    made = Payload(Analysis(drawn), title="t")
    meta, tables = first_of(made)
    late = [name for name in meta["sections"] if name not in is_here(made)]
    assert late[0] == "advice"
    assert made.keys == made.late_keys == tuple(f"{name}:0" for name in late)
    assert is_here(made) >= {"names", "steps", "ops", "occurrences", "memory", "events", "stats"}
    assert meta["n_events"] == len(tables["events:0"]["start_ps"]) == drawn.n_events
    assert "sample" not in tables
    assert meta["title"] == "t"
    assert len(tables["names"]["family"]) == len(meta["names"])


def rounds(n: int, digits: int = 9) -> str:
    """Characters that do not compress, others for each number."""
    return base64.b64encode(hashlib.shake_128(str(n).encode()).digest(digits), altchars=b"_/")[:digits].decode()


def many_names() -> list[Plane]:
    return [plane(CPU, line("m", *(event(f"{rounds(i, 400)}:MatMul", i, 0.9) for i in range(3_000))))]


def many_lines() -> list[Plane]:
    return [plane(CPU, *(line(rounds(i, 50), event("a:MatMul", i % 1000, 1)) for i in range(6_000)))]


def many_planes(n: int = 2_000) -> list[Plane]:
    return [plane(f"/device:{rounds(i, 400)}", line(rounds(-i, 600), event("k", 1, 1))) for i in range(n)]


def many_steps() -> list[Plane]:
    both = (
        e
        for i in range(20_000)
        for e in (event("train", 10 * i, 9, _r=1, step_num=i), event("a/foo:MatMul", 10 * i + 2, 4))
    )
    return [plane(CPU, line("main", *both))]


def many_allocators() -> list[Plane]:
    made = (event("MemoryAllocation", i, 0, allocator_name=rounds(i), bytes_allocated=i, addr=i) for i in range(4_000))
    return [plane(CPU, line("main", *made))]


def many_stats(n_events: int = 20_000) -> list[Plane]:
    """Each event with 30 stats, doubles that do not compress."""
    stats = np.zeros((n_events, 30, 13), np.uint8)
    stats[..., :5] = (0x22, 11, 0x08, 0, 0x11)  # a stat of 11 bytes: its name, a double
    stats[..., 3] = np.arange(1, 31)
    stats[..., 5:] = np.random.default_rng(1).integers(0, 256, (n_events, 30, 8))
    named = Event("a", 0, 1, tuple((f"k{j}", 0.5) for j in range(30)))
    drawn = (Event("a", i, 1, extra=own.tobytes()) for i, own in enumerate(stats[1:], start=1))
    return [plane(CPU, line("m", named, *drawn))]


def deep() -> list[Plane]:
    return [plane(CPU, *(line(f"t{k}", *(Event("a", i, 3 * 10_000 - 2 * i) for i in range(10_000))) for k in range(6)))]


def huge_texts() -> list[Plane]:
    long = "x" * 10**7
    return [
        plane(CPU, line(long, event(f"{long}:A", 0, 1, foo=f"{long}y"), event(f"{long}z:A", 2, 1), display_name=long))
    ]


HOSTILE = (many_names, many_lines, many_planes, many_steps, many_allocators, many_stats, deep, huge_texts)


@pytest.mark.parametrize("drawing", HOSTILE, ids=lambda drawing: drawing.__name__)
def test_the_first_pack_is_small_whatever_the_trace_holds(drawing: Callable[[], list[Plane]]) -> None:
    made = Payload(Analysis(trace(*drawing())), title="t" * 10**6)
    assert sum(len(as_text(part)) for part in made.first.values()) <= MIB
    for key in made.keys:
        assert len(made.part(key)) <= PART_BYTES, key
    got = receive(made)
    json.dumps(got.meta, allow_nan=False)
    for name, state in got.meta["sections"].items():
        rows = got.tables[name]["family"] if name == "names" else None
        assert rows is None or len(rows) == state["n_rows"]
    assert got.n_events == made.positions.n_events == got.tables["rows"]["n"].sum()


@pytest.mark.parametrize(("most_bytes", "n_characters"), [(2**20, 600), (40_000, 100), (0, 24)])
def test_strings_of_the_meta_object_are_cut_as_short_as_it_takes(
    most_bytes: int, n_characters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfprof_widgets.show.payload._MAX_META_BYTES", most_bytes)
    meta, _ = first_of(Payload(Analysis(trace(*many_planes(50)))))
    assert {len(one["name"]) for one in meta["lines"]} == {n_characters}


def test_of_too_many_lines_the_busiest_travel_and_the_meta_object_says_of_how_many() -> None:
    lines = [line(f"line {i}", event("a:A", 0, 5 + i % 7)) for i in range(4_500)]
    drawn = trace(plane(CPU, *lines))
    got = receive(Payload(Analysis(drawn)))
    assert (got.meta["n_lines"], len(got.meta["lines"])) == (4_500, 4_096)
    assert (got.meta["n_events"], got.n_events) == (4_500, 4_096)
    left_out = {f"line {i}" for i in range(4_500)} - {one["name"] for one in got.meta["lines"]}
    assert {int(name.split()[1]) % 7 for name in left_out} == {0}, "the least busy ones"
    # Executions on lines that do not travel count all the same, on lines of numbers of their own.
    numbers = got.tables["occurrences"]["line"]
    assert sorted(numbers.tolist()) == list(range(4_500))
    names = [got.meta["lines"][k]["name"] for k in numbers.tolist() if k < 4_096]
    assert len(set(names)) == 4_096
    assert sorted(got.tables["op_lines"]["line"].tolist()) == list(range(4_500))


def test_of_a_trace_nested_too_deep_the_outer_events_of_every_line_travel() -> None:
    deep_line = line("deep", *(Event("a", i, 3 * 40_000 - 2 * i) for i in range(40_000)))
    got = receive(Payload(Analysis(trace(plane(CPU, deep_line, line("flat", event("b", 0, 1)))))))
    assert got.tables["rows"]["depth"].max() == 32_766
    assert (got.meta["n_events"], got.n_events) == (40_001, 32_768)
    assert [one["n_events"] for one in got.meta["lines"]] == [40_000, 1]
    assert got.tables["rows"]["is_filled"][-2:].tolist() == [0, 0]


def test_long_strings_are_cut_alike_everywhere_and_stay_different() -> None:
    long = "x" * 5_000
    drawn = trace(plane(CPU, line("m", event(f"{long}a:MatMul", 0, 1), event(f"{long}b:MatMul", 2, 1))))
    got = receive(Payload(Analysis(drawn)))
    names = [got.text(got.tables["ops"]["name"][op]) for op in got.events["op"]]
    assert len(set(names)) == 2
    for name in names:
        assert name.startswith("x" * 1000)
        assert name.endswith("… (5,001 characters)")
        assert len(name) < 1050
    assert len(set(got.meta["names"])) == len(got.meta["names"])
    cut = names_module.Cutter()
    assert cut("y" * 2000) == cut("y" * 2000)
    assert cut("y" * 1000) == "y" * 1000
    assert len({cut(f"{'z' * 1000}{k:04}") for k in range(2000)}) == 2000


def test_of_too_many_stats_of_an_event_the_first_ones_travel_and_their_count() -> None:
    counted = Event("x", 0, 5, (("k", 1),) * 70_000)
    got = receive(Payload(Analysis(trace(plane(CPU, line("main", counted, event("y", 9, 1, last=7)))))))
    counts = got.tiles[0]["stat_counts"]
    assert counts["n"].tolist() == [65_535, 1]
    assert counts["n_all"].tolist() == [70_000, 1]
    assert got.stats[1][0][2] == 7


def test_stats_that_do_not_compress_are_spread_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfprof_widgets.show.payload._MOST_EVENTS", 10)
    made = Payload(Analysis(trace(*many_stats(2_000))))
    monkeypatch.setattr(event_tables, "PART_BYTES", 2**17)
    monkeypatch.setattr("tfprof_widgets.show.tables._MAX_STATS", 10_000)
    _, tables = unpack(made.part("stats:0"))
    assert set(tables["stat_counts"]["n"].tolist()) == {5}
    assert set(tables["stat_counts"]["n_all"].tolist()) == {30}
    assert len(tables["stats"]["bits"]) == 5 * 2_000


def test_names_drawn_first_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "_PART_CHARACTERS", 2**15)
    monkeypatch.setattr("tfprof_widgets.show.payload._MOST_EVENTS", 10)
    drawn = [
        event(f"{rounds(i, 40)}:MatMul", 10 * i, 9 if i % 100 == 0 else 0.001, note=rounds(-i, 40))
        for i in range(4_000)
    ]
    made = Payload(Analysis(trace(plane(CPU, line("m", *drawn)))))
    meta, tables = first_of(made)
    assert "names" not in is_here(made)
    assert 0 < len(meta["names"]) < meta["sections"]["names"]["n_rows"]
    sample = tables["sample"]
    long = sample["name"][sample["duration_ps"] > 10**6]
    assert len(long) >= 40
    assert long.max() < len(meta["names"])
    got = receive(made)
    assert {got.text(name) for name in long} <= {f"{rounds(i, 40)}:MatMul" for i in range(0, 4_000, 100)}
    assert len(set(got.meta["names"])) == meta["sections"]["names"]["n_rows"] == len(got.tables["names"]["count"])


def test_the_sample_has_the_values_of_its_events(drawn: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfprof_widgets.show.payload._MOST_EVENTS", 10)
    made = Payload(Analysis(drawn))
    assert not {"events", "stats"} & is_here(made)
    got = receive(made)
    sample = got.tables["sample"]
    assert (np.diff(sample["position"].astype(np.int64)) > 0).all()
    for name in ("start_ps", "duration_ps", "self_ps", "name", "op", "step"):
        np.testing.assert_array_equal(sample[name], got.events[name][sample["position"]])


@pytest.mark.parametrize("n_events", [10_000, 1_000_000])
def test_the_first_pack_of_a_real_run_is_small_at_any_length(capture_of: Callable[[str], Path], n_events: int) -> None:
    once = read_xspace(capture_of("keras_fit").read_bytes())
    results = Analysis(repeated(once, -(-n_events // once.n_events)))
    made = Payload(results)
    assert results.trace.n_events >= n_events
    assert sum(len(as_text(part)) for part in made.first.values()) <= MIB
    meta, tables = first_of(made)
    # The picture of the whole and the totals are there from the start.
    assert {"names", "ops", "unit_totals", "steps"} <= is_here(made)
    assert tables["rows"]["n"].sum() == tables["tiles"]["n"].sum() == meta["n_events"] == results.trace.n_events
    # Of each row and bin of time one event: fewer where a busy machine stretched the training.
    assert "events" in is_here(made) or len(tables["sample"]["position"]) > 1_000
    assert max(len(made.part(key)) for key in [*made.keys[:3], *made.keys[-3:]]) <= PART_BYTES


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
