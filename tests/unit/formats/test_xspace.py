"""Reading an XSpace: what each legal way of writing becomes, read whole, by protobuf or piece by piece."""

from __future__ import annotations

import dataclasses
import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import (
    EPOCH_NS,
    Event,
    Gz,
    Line,
    Nothing,
    Odd,
    Plane,
    Ref,
    U,
    aggregated,
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
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.read import BytesContent, FileContent, read_xspace, watched_reading, xspace, xspace_events
from tfprof_widgets.read import protobuf as file_content
from tfprof_widgets.read import xspace as xspace_parts
from tfprof_widgets.read import xspace_events as xspace_messages
from tfprof_widgets.trace import Trace


def rows(read: Trace) -> list[tuple[str, int, int]]:
    """Name, start and duration in microseconds of each event."""
    return [
        (read.strings[name], start // 10**6, duration // 10**6)
        for name, start, duration in zip(read.name_id, read.start_ps.tolist(), read.duration_ps.tolist(), strict=True)
    ]


def cpu(*events: object, **options: object) -> Trace:
    return trace(plane("/host:CPU", line("main", *events)), **options)  # type: ignore[arg-type]


def test_events_are_sorted_by_line_start_and_longest_first() -> None:
    read = trace(
        plane(
            "/host:CPU",
            line("a", event("late", 5, 1), event("short", 0, 2), event("long", 0, 9)),
            line("b", event("other", 1, 1)),
        )
    )
    assert rows(read) == [("long", 0, 9), ("short", 0, 2), ("late", 5, 1), ("other", 1, 1)]
    assert read.line_id.tolist() == [0, 0, 0, 1]
    assert read.depth.tolist() == [0, 1, 1, 0]


def test_a_text_is_stored_once_however_it_was_written() -> None:
    read = cpu(*(event("e", i, 1, k="same", r=Ref("same"), z=Gz("same")) for i in range(5)))
    assert read.strings.count("same") == 1
    assert len(set(read.strings)) == len(read.strings)
    assert len(set(read.string_stat("k").tolist() + read.string_stat("z").tolist())) == 1


def test_an_aggregated_event_has_a_count_and_is_nowhere_on_the_time_axis() -> None:
    read = cpu(event("op", 0, 10), aggregated("many", 7, 500, x=1), event("inner", 2, 3))
    many = read.strings.index("many")
    row = read.name_id.tolist().index(many)
    assert read.n_occurrences[row] == 7
    assert read.duration_ps[row] == 500 * 10**6
    assert read.stats_of(row) == {"x": 1}
    assert read.nesting.self_ps.sum() == 10 * 10**6
    assert read.nesting.self_ps[row] == 0


def test_stats_of_the_metadata_come_first_and_the_event_overrides_them() -> None:
    read = cpu(event("e", 0, 1, metadata_stats={"a": 1, "text": Ref("t"), "d": 0.5}, a=2, display_name="shown"))
    assert read.stats_of(0) == {"a": 2, "text": "t", "d": 0.5}
    assert read.strings[read.display_name_id[read.metadata_id[0]]] == "shown"


def test_planes_keep_their_stats_and_host() -> None:
    read = trace(
        plane("/device:GPU:3", line("s"), core_count=U(80), name="V100", ratio=0.5), hostnames=["worker-1:6000"]
    )
    (one,) = read.planes
    assert one.host == "worker-1:6000"
    assert one.stats == {"core_count": 80, "name": "V100", "ratio": 0.5}
    assert one.is_device
    assert not one.is_host
    assert read_xspace(space(plane("p")), host="mine").planes[0].host == "mine"


def test_of_several_stats_of_a_plane_by_one_name_the_last_counts_in_whatever_order_it_is_written() -> None:
    name = tagged(5, number(1, 1) + tagged(2, number(1, 1) + tagged(2, b"cores")))
    stats = tagged(6, number(1, 1) + number(4, 7)) + tagged(6, number(4, 8) + number(1, 1))
    assert read_xspace(tagged(1, tagged(2, b"/device:GPU:0") + name + stats)).planes[0].stats == {"cores": 8}


def test_a_session_is_what_the_profiler_noted() -> None:
    read = trace(session(duration_us=50), plane("/host:CPU", line("main", event("e", 3, 1))), hostnames=["h"])
    assert read.origin_ns == EPOCH_NS
    (one,) = read.sessions
    assert (one.host, one.start_ps, one.stop_ps) == ("h", 0, 50 * 10**6)


def test_without_a_noted_session_it_is_the_extent_of_the_events() -> None:
    read = cpu(event("a", 3, 1), event("b", 8, 4))
    assert read.origin_ns == 0
    assert (read.sessions[0].start_ps, read.sessions[0].stop_ps) == (3 * 10**6, 12 * 10**6)


def test_absolute_timestamps_count_from_the_noted_start_also_those_just_before_it() -> None:
    lines = (
        line("abs", event("a", 1, 1), timestamp_ns=EPOCH_NS + 2000),
        line("rel", event("b", 1, 1), timestamp_ns=5000),
        line("before", event("c", 9, 1), timestamp_ns=EPOCH_NS - 5000),
    )
    assert rows(trace(session(), plane("/host:CPU", *lines))) == [("a", 3, 1), ("b", 6, 1), ("c", 4, 1)]


def test_absolute_timestamps_without_a_session_count_from_the_earliest() -> None:
    lines = (
        line("x", event("a", 1, 1), timestamp_ns=EPOCH_NS + 9000),
        line("y", event("b", 0, 1), timestamp_ns=EPOCH_NS),
    )
    empty = line("empty", timestamp_ns=EPOCH_NS - 10**9)
    read = trace(plane("/host:CPU", empty, *lines))
    assert read.origin_ns == EPOCH_NS
    assert rows(read) == [("a", 10, 1), ("b", 0, 1)]


def test_times_beyond_two_weeks_are_cut_and_reported() -> None:
    read = cpu(event("far", 5e12, 1), event("negative", 0, -5), event("fine", 0, 1))
    assert read.duration_ps.min() == 0
    assert (read.end_ps > 0).sum() == 2
    assert read.nesting.self_ps.min() >= 0
    late = line("x", event("a", 0, 1), event("b", 0, 1), timestamp_ns=2**63 - 1)
    for one in (read, trace(session(), plane("/host:CPU", late))):
        assert any(warning.startswith("2 times ") for warning in one.warnings)


def test_errors_and_warnings_of_the_profiler_are_kept() -> None:
    assert trace(plane("p"), errors=["lost"], warnings=["late"]).warnings == ("lost", "late")


@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=5)), ids=str)
def test_odd_encodings_read_as_the_plain_one(flags: tuple[bool, ...]) -> None:
    shuffled, *others = flags
    drawing = (
        session(),
        plane(
            "/host:CPU",
            line("a", event("train", 0, 9, _r=1, f=1.5, neg=-3, big=U(2**64 - 1)), event("MatMul:MatMul", 2, 3)),
            line(
                "b",
                event("x", 0, 1, s="text", r=Ref("ref"), b=b"blob", z=Gz("zip"), n=Nothing()),
                aggregated("y", 7, 3),
            ),
        ),
    )
    plain = read_xspace(space(*drawing))
    read = read_xspace(space(*drawing, odd=Odd(random.Random(1) if shuffled else None, *others)))
    assert rows(read) == rows(plain)
    assert [read.stats_of(i) for i in range(4)] == [plain.stats_of(i) for i in range(4)]
    assert read.n_occurrences.tolist() == plain.n_occurrences.tolist() == [0, 0, 7, 0]


def test_of_a_repeated_field_the_last_counts() -> None:
    read = cpu(event("e", 1, 2, extra=number(3, 5 * 10**6)))
    assert rows(read) == [("e", 1, 5)]


def test_a_space_without_events_is_a_trace_without_events() -> None:
    for read in (trace(plane("/host:CPU")), trace(plane("/host:CPU", line("main"))), trace(errors=["nothing"])):
        assert read.n_events == 0
        assert read.stats.n_rows == 0
        assert read.nesting.depth.tolist() == []
        assert read.plane_id.tolist() == []
        assert read.int_stat("any").tolist() == []
        assert len(read.sessions) == 1


def test_a_line_longer_than_a_block_is_one_line() -> None:
    n = 40_000
    read = cpu(*(event("even" if i % 2 == 0 else "odd", i, 1, i=i) for i in range(n)))
    assert (read.int_stat("i") == np.arange(n)).all()
    assert (read.start_ps == np.arange(n) * 10**6).all()


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


CPU = tagged(2, b"/host:CPU")
FINE = tagged(1, tagged(2, b"fine"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            FINE + tagged(1, CPU + tagged(3, number(1, 1) + b"\x07\x01")),
            r"byte \d+ of \d+: 0x07 is not the start of a protobuf field in line 0 of plane 1",
        ),
        (
            tagged(1, CPU + tagged(3, number(1, 1) + tagged(4, number(1, 1)) + tagged(4, b"\x12\x05"))),
            r"plane '/host:CPU'.*Event 1 \(2 bytes: 12 05\) is not an XEvent",
        ),
        (
            tagged(1, CPU + tagged(4, b"\x08\x01") + tagged(4, b"\x08\x01\x12\x05")),
            r"EventMetadataEntry 1 \(4 bytes: 08 01 12 05\) is not an XEventMetadataEntry",
        ),
        (
            tagged(1, CPU + tagged(6, number(1, 1) + number(4, 7)) + tagged(6, b"\x2a\x05")),
            r"Stat 1 \(2 bytes: 2a 05\) is not an XStat",
        ),
        (b"\x1f\x8b\x08" + bytes(20), "compressed by gzip: give the path"),
        (space(plane("p", line("t", event("e", 0, 1, z=Gz(raw=b"abc"))))), "compressed string of 3 bytes is not gzip"),
    ],
    ids=["a line", "an event", "metadata", "a stat of a plane", "a whole file", "a text"],
)
def test_what_is_broken_is_named_with_its_place(content: bytes, told: str) -> None:
    with pytest.raises(TraceError, match=told):
        read_xspace(content)


@pytest.mark.parametrize(
    "content",
    [b"hello, world", b"\x89PNG\r\n\x1a\n" + bytes(40), b"<html></html>", bytes(100), b"\xff" * 64, b"\x08\x01"],
)
def test_foreign_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(TraceError, match="Not a"):
        read_xspace(content)


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
