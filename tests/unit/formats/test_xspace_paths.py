"""An XSpace read whole, by protobuf or piece by piece gives the same trace; what is none is refused with where and what."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import (
    Event,
    Gz,
    Line,
    Nothing,
    Odd,
    Plane,
    Ref,
    U,
    event,
    line,
    number,
    plane,
    session,
    space,
    tagged,
    trace,
)
from tests.unit.formats.full_protobuf import actual_events, expected_events
from tests.unit.formats.test_xspace import cpu
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.read import BytesContent, FileContent, read_xspace, watched_reading, xspace, xspace_events
from tfprof_widgets.read import protobuf as file_content
from tfprof_widgets.read import xspace as xspace_parts
from tfprof_widgets.read import xspace_events as xspace_messages
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


@pytest.mark.nightly
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


@settings(max_examples=30)
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


def drawn() -> bytes:
    host = plane(
        "/host:CPU",
        line(
            "main", *(event(f"op{i % 7}", 2 * i, 1, id=i, text="x" * (i % 150)) for i in range(3000)), display_name="M"
        ),
        line("short", event("a", 0, 1)),
    )
    return space(session(), host, hostnames=["h"])


@pytest.mark.parametrize("n_bytes", [40_000, 100_000])
def test_long_lines_are_read_in_pieces(n_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_xspace(drawn())
    monkeypatch.setattr(xspace_parts, "_PIECE_BYTES", n_bytes)
    parts = xspace_parts.space_parts(BytesContent(drawn()))
    assert max(len(part.pieces) for plane in parts.planes for part in plane.lines) > 1
    read = read_xspace(drawn())
    for name in ("start_ps", "duration_ps", "name_id", "line_id"):
        np.testing.assert_array_equal(getattr(read, name), getattr(whole, name))
    for name in ("n", "key", "kind", "bits"):
        np.testing.assert_array_equal(getattr(read.stats.all_stats(), name), getattr(whole.stats.all_stats(), name))
    assert read.lines == whole.lines


def test_framing_that_only_protobuf_reads_is_read_through_it() -> None:
    group = bytes([0x3B, 0x3C])  # a group of field 7, unknown and empty
    content = tagged(1, tagged(2, b"/host:CPU") + group + tagged(3, number(1, 5) + group + tagged(4, number(1, 1))))
    assert read_xspace(content).n_events == 1


def test_a_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(drawn())
    with FileContent(file) as content:
        file.write_bytes(b"")
        with pytest.raises(TraceError, match="became shorter while it was read"):
            read_xspace(content)


def test_reading_tells_how_far_it_is_and_can_be_interrupted(tmp_path: Path) -> None:
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(drawn())
    told: list[tuple[int, int]] = []
    with watched_reading(lambda *counts: told.append(counts)), FileContent(file) as content:
        read_xspace(content)
    read, more = np.array(told).sum(axis=0)
    assert more == 2 * file.stat().st_size
    assert 0.9 * more < read <= 1.3 * more  # the look-up reads a little ahead

    def interrupt(n_read: int, _: int) -> None:
        if n_read:
            raise KeyboardInterrupt

    content = None
    with pytest.raises(KeyboardInterrupt), watched_reading(interrupt), FileContent(file) as content:
        read_xspace(content)
    assert content is not None
    assert content._file.closed
    assert file_content._WATCHER.get() is None


def test_no_bytes_are_an_empty_trace() -> None:
    with pytest.raises(EmptyTraceError, match=r"run/a\.xplane\.pb is empty \(0 bytes\)"):
        read_xspace(b"", source="run/a.xplane.pb")


def test_a_truncated_file_says_where_it_ends_and_what_is_missing() -> None:
    whole = space(plane("/host:CPU", line("main", *(event(f"op{i}", i, 1, a=i) for i in range(50)))))
    with pytest.raises(TraceError, match=rf"byte 300 of 300: the file is truncated.* {len(whole) - 300} bytes more"):
        read_xspace(whole[:300])


def test_every_truncation_is_refused_or_a_smaller_trace() -> None:
    whole = space(plane("/host:CPU", line("main", event("a", 0, 1, s="text"))), session())
    for length in range(1, len(whole)):
        try:
            read = read_xspace(whole[:length])
        except TraceError:
            continue
        assert len(read.planes) == 1  # cut between the two planes


def test_damage_inside_a_plane_is_named() -> None:
    broken_line = tagged(3, number(1, 1) + b"\x07\x01")
    with pytest.raises(
        TraceError, match=r"byte \d+ of \d+: 0x07 is not the start of a protobuf field in line 0 of plane 1"
    ):
        read_xspace(tagged(1, tagged(2, b"fine")) + tagged(1, tagged(2, b"/host:CPU") + broken_line))


def test_a_broken_event_names_its_plane() -> None:
    broken = tagged(3, number(1, 1) + tagged(4, number(1, 1)) + tagged(4, b"\x12\x05"))
    with pytest.raises(TraceError, match=r"plane '/host:CPU'.*Event 1 \(2 bytes: 12 05\) is not an XEvent"):
        read_xspace(tagged(1, tagged(2, b"/host:CPU") + broken))


@pytest.mark.parametrize(
    "content",
    [b"hello, world", b"\x89PNG\r\n\x1a\n" + bytes(40), b"<html></html>", bytes(100), b"\xff" * 64, b"\x08\x01"],
)
def test_foreign_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(TraceError, match="Not a"):
        read_xspace(content)


def test_metadata_that_is_broken_is_named() -> None:
    plane = tagged(2, b"/host:CPU") + tagged(4, bytes.fromhex("0801")) + tagged(4, bytes.fromhex("08011205"))
    with pytest.raises(
        TraceError, match=r"EventMetadataEntry 1 \(4 bytes: 08 01 12 05\) is not an XEventMetadataEntry"
    ):
        read_xspace(tagged(1, plane))


def test_a_broken_stat_of_a_plane_is_named() -> None:
    stats = tagged(6, number(1, 1) + number(4, 7)) + tagged(6, bytes.fromhex("2a05"))
    with pytest.raises(TraceError, match=r"Stat 1 \(2 bytes: 2a 05\) is not an XStat"):
        read_xspace(tagged(1, tagged(2, b"/host:CPU") + stats))


def test_gzip_says_how_to_open_it() -> None:
    with pytest.raises(TraceError, match="compressed by gzip: give the path"):
        read_xspace(b"\x1f\x8b\x08" + bytes(20))


def test_a_compressed_string_that_is_not_gzip_is_refused() -> None:
    with pytest.raises(TraceError, match="compressed string of 3 bytes is not gzip"):
        cpu(event("e", 0, 1, z=Gz(raw=b"abc")))


def test_a_decompression_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xspace_events, "MAX_COMPRESSED_TEXT_BYTES", 1000)
    assert cpu(event("e", 0, 1, z=Gz("x" * 1000))).stats_of(0)["z"] == "x" * 1000
    with pytest.raises(TraceError, match="more than 1000 bytes"):
        cpu(event("e", 0, 1, z=Gz("x" * 600)), event("f", 1, 1, z=Gz("y" * 600)))


def test_more_planes_or_lines_than_any_profiler_writes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (xspace_messages, xspace):
        monkeypatch.setattr(module, "MAX_PLANES", 3)
        monkeypatch.setattr(module, "MAX_LINES", 5)
    trace(plane("p", *[line("t")] * 5), plane("q"), plane("r"))
    with pytest.raises(TraceError, match="more than 5 lines"):
        trace(plane("p", *[line("t")] * 6))
    with pytest.raises(TraceError, match="more than 3 planes"):
        trace(*[plane("p")] * 4)
