"""Reading and a full protobuf decode give the same trace, on real captures and on drawn ones."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import Event, Gz, Line, Nothing, Odd, Plane, Ref, U, space
from tests.unit.formats.full_protobuf import actual_events, expected_events
from tfprof_widgets.read import read_xspace, xspace, xspace_events
from tfprof_widgets.trace import Stats, Trace


def assert_same_trace(a: Trace, b: Trace) -> None:
    names = [field.name for field in dataclasses.fields(Trace) if field.name != "stats"]
    pairs = {name: (getattr(a, name), getattr(b, name)) for name in names}
    stats = (trace.stats.all_stats() for trace in (a, b))
    pairs |= dict(zip(("n", "key", "kind", "bits"), zip(*map(columns_of, stats), strict=True), strict=True))
    for name, (left, right) in pairs.items():
        same = np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right
        assert same, name
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype, name


def columns_of(stats: Stats) -> tuple[np.ndarray, ...]:
    return stats.n, stats.key, stats.kind, stats.bits


def assert_all_agree(data: bytes) -> None:
    read = read_xspace(data)
    assert actual_events(read) == expected_events(data, origin_ns=read.origin_ns)


def test_a_real_gpu_trace_agrees_with_a_full_decode(v100_xplane: Path) -> None:
    assert_all_agree(v100_xplane.read_bytes())


def test_a_real_keras_capture_agrees_with_a_full_decode(keras_xplane: Path) -> None:
    assert_all_agree(keras_xplane.read_bytes())


def test_no_event_or_metadata_of_a_real_capture_is_written_again(
    keras_xplane: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a message of a real capture was written again")

    monkeypatch.setattr(xspace_events, "plain", refuse)
    monkeypatch.setattr(xspace, "plain", refuse)
    assert read_xspace(keras_xplane.read_bytes()).n_events > 1000


whole_int64 = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(codec="utf-8"), max_size=12)
values = st.one_of(
    st.floats(allow_nan=False),
    whole_int64,
    st.builds(U, st.integers(0, 2**64 - 1)),
    texts,
    st.binary(max_size=12),
    st.builds(Ref, texts),
    st.builds(Gz, texts),
    st.just(Nothing()),
    st.text("x", min_size=120, max_size=140),  # lengths of two bytes
)
stats = st.lists(st.tuples(st.sampled_from(["id", "group_id", "_p", "long stat name"]), values), max_size=4).map(tuple)
times = st.one_of(st.integers(0, 2000), st.integers(0, 2**59))
events = st.builds(
    Event,
    st.one_of(texts, st.binary(max_size=5)),
    times,
    times,
    stats,
    n_occurrences=st.one_of(st.none(), st.integers(1, 2**31 - 1)),
    display_name=texts,
    metadata_stats=stats,
    has_metadata=st.booleans(),
)
lines = st.builds(
    Line,
    texts,
    st.lists(events, max_size=6).map(tuple),
    id=st.one_of(st.integers(0, 3), whole_int64),
    timestamp_ns=st.integers(0, 2**40),
    display_name=texts,
)
planes = st.builds(Plane, texts, st.lists(lines, max_size=4).map(tuple))
odd_ways = st.builds(
    Odd,
    st.one_of(st.none(), st.integers(0, 99).map(random.Random)),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


named_planes = planes.map(lambda plane: dataclasses.replace(plane, name=plane.name or "p"))
drawn_spaces = st.builds(
    lambda drawn, odd: space(*drawn, odd=odd), st.lists(named_planes, min_size=1, max_size=3), odd_ways
)


@settings(max_examples=60)
@given(drawn_spaces)
def test_drawn_traces_agree_with_a_full_decode(data: bytes) -> None:
    assert_all_agree(data)


@pytest.mark.nightly
@settings(max_examples=3000)
@given(drawn_spaces)
def test_many_drawn_traces_agree_with_a_full_decode(data: bytes) -> None:
    assert_all_agree(data)


def test_reading_twice_gives_the_same_trace(v100_xplane: Path) -> None:
    data = v100_xplane.read_bytes()
    assert_same_trace(read_xspace(data), read_xspace(data))
