"""The first pack: everything of a small trace, what is needed first of a large one, and never more than 1 MiB of base64."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.builders import Event, Plane, event, line, plane, trace
from tests.packs import first_of, is_here, unpack
from tests.unit.views.received import receive
from tests.unit.views.repeated import repeated
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import PART_BYTES, Payload, as_text
from tfprof_widgets.show import tables as event_tables
from tfprof_widgets.show import tables as names_module
from tfprof_widgets.trace import Trace

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
    assert meta["n_events"] == meta["n_events_sent"] == len(tables["events:0"]["start_ps"]) == drawn.n_events
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
    assert got.n_events == got.meta["n_events_sent"] == got.tables["rows"]["n"].sum()


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
    assert (got.meta["n_events"], got.meta["n_events_sent"]) == (4_500, 4_096)
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
    assert (got.meta["n_events"], got.meta["n_events_sent"]) == (40_001, 32_768)
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
