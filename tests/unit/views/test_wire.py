"""Packs: what is put in comes out bit for bit, coded or not; hosts and iterator calls among it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.builders import event, line, plane, session, space
from tests.cluster import Cluster
from tests.packs import unpack
from tests.two_hosts import BARE, FULL, write_two_hosts
from tests.vector_drawings import coded_tables
from tfprof_widgets.analysis import Analysis, input_words, merge_hosts, summarize_host
from tfprof_widgets.read import open_traces, read_xspace
from tfprof_widgets.show import (
    MAX_BYTES,
    Payload,
    Section,
    Table,
    TableCoder,
    compute_positions,
    meta_of,
    pack_bytes,
)


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


@pytest.mark.parametrize("values", [np.full(N, -0.0), np.full(N, np.nan), np.arange(N) + 0.5, np.full(N, 2.0**60)])
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
