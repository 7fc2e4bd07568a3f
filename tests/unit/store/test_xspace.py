"""Reading an XSpace: what each legal way of writing becomes, and what each illegal one is refused with."""

from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest

from tests.builders import (
    EPOCH_NS,
    Gz,
    Nothing,
    Odd,
    Ref,
    U,
    aggregated,
    event,
    length_prefixed,
    line,
    number,
    plane,
    session,
    space,
    tag,
    tagged,
    trace,
)
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.store import string_table, xspace_messages
from tfprof_widgets.store.trace import Trace
from tfprof_widgets.store.xspace import read_xspace


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


def test_stats_move_with_their_event_when_a_line_is_sorted() -> None:
    read = cpu(event("late", 5, 1, a=1, b="x"), event("none", 3, 1), event("early", 0, 1, a=2, c=3))
    assert [read.stats_of(i) for i in range(3)] == [{"a": 2, "c": 3}, {}, {"a": 1, "b": "x"}]


def test_every_kind_of_stat_keeps_its_value() -> None:
    values = {
        "double": 0.1,
        "negative": -3,
        "smallest": -(2**63),
        "largest": U(2**64 - 1),
        "text": "héllo",
        "empty": "",
        "ref": Ref("shared"),
        "bytes": b"\0\xff",
        "gzip": Gz("packed"),
        "nothing": Nothing(),
        "zero": 0,
    }
    (stats,) = (cpu(event("e", 0, 1, stats=values)).stats_of(0),)
    assert stats == {
        "double": 0.1,
        "negative": -3,
        "smallest": -(2**63),
        "largest": 2**64 - 1,
        "text": "héllo",
        "empty": "",
        "ref": "shared",
        "bytes": b"\0\xff",
        "gzip": "packed",
        "nothing": 0,
        "zero": 0,
    }


def test_a_text_is_stored_once_however_it_was_written() -> None:
    read = cpu(*(event("e", i, 1, k="same", r=Ref("same"), z=Gz("same")) for i in range(5)))
    assert read.strings.count("same") == 1
    assert len(set(read.strings)) == len(read.strings)
    assert len(set(read.string_stat("k").tolist() + read.string_stat("z").tolist())) == 1


def test_an_event_with_hundreds_of_stats_keeps_them_in_order() -> None:
    values = [(f"k{i % 7}", i) for i in range(300)]
    read = cpu(event("few", 0, 1, a=1), event("many", 1, 1, stats=values), event("few", 2, 1, a=2))
    low, high = read.stat_offsets[1:3]
    assert read.stat_bits[low:high].tolist() == list(range(300))
    assert read.int_stat("a").tolist() == [1, 0, 2]


def test_an_aggregated_event_has_a_count_and_is_nowhere_on_the_time_axis() -> None:
    read = cpu(event("op", 0, 10), aggregated("many", 7, 500, x=1), event("inner", 2, 3))
    many = read.strings.index("many")
    row = read.name_id.tolist().index(many)
    assert read.n_occurrences[row] == 7
    assert read.duration_ps[row] == 500 * 10**6
    assert read.stats_of(row) == {"x": 1}
    assert read.nesting.self_ps.sum() == 10 * 10**6
    assert read.nesting.self_ps[row] == 0


def test_lines_of_the_same_id_in_a_plane_are_one_line_on_one_clock() -> None:
    read = trace(
        plane(
            "/host:CPU",
            line("t", event("b", 1, 1), id=4, timestamp_us=10),
            line("u", event("c", 0, 1), id=5),
            line("t", event("a", 1, 1), id=4),
        ),
        plane("/device:GPU:0", line("s", event("k", 0, 1), id=4)),
    )
    assert [(one.plane, one.id, one.name) for one in read.lines] == [(0, 4, "t"), (0, 5, "u"), (1, 4, "s")]
    assert rows(read) == [("a", 1, 1), ("b", 11, 1), ("c", 0, 1), ("k", 0, 1)]
    assert read.line_offsets.tolist() == [0, 2, 3, 4]


def test_an_event_without_metadata_has_no_name() -> None:
    assert rows(cpu(event("gone", 0, 1, has_metadata=False), event("here", 1, 1))) == [("", 0, 1), ("here", 1, 1)]


def test_stats_of_the_metadata_come_first_and_the_event_overrides_them() -> None:
    read = cpu(event("e", 0, 1, metadata_stats={"a": 1, "text": Ref("t"), "d": 0.5}, a=2, display_name="shown"))
    assert read.stats_of(0) == {"a": 2, "text": "t", "d": 0.5}
    assert read.strings[read.display_name_id[read.metadata_id[0]]] == "shown"


def test_names_that_are_not_utf8_are_text_that_json_can_hold() -> None:
    read = cpu(event(b"bad \xff\xfe", 0, 1, s="\udc80tail", r=Ref("ok")), hostnames=["h"])
    assert rows(read)[0][0] == "bad \\xff\\xfe"
    assert read.stats_of(0)["s"] == "\\x80tail"
    assert json.loads(json.dumps(read.strings)) == list(read.strings)
    "".join(read.strings).encode("utf-8")


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


def test_a_session_is_what_the_profiler_noted() -> None:
    read = trace(session(duration_us=50), plane("/host:CPU", line("main", event("e", 3, 1))), hostnames=["h"])
    assert read.origin_ns == EPOCH_NS
    (one,) = read.sessions
    assert (one.host, one.start_ps, one.stop_ps) == ("h", 0, 50 * 10**6)


def test_without_a_noted_session_it_is_the_extent_of_the_events() -> None:
    read = cpu(event("a", 3, 1), event("b", 8, 4))
    assert read.origin_ns == 0
    assert (read.sessions[0].start_ps, read.sessions[0].stop_ps) == (3 * 10**6, 12 * 10**6)


def test_absolute_timestamps_count_from_the_noted_start() -> None:
    lines = (
        line("abs", event("a", 1, 1), timestamp_ns=EPOCH_NS + 2000),
        line("rel", event("b", 1, 1), timestamp_ns=5000),
    )
    assert rows(trace(session(), plane("/host:CPU", *lines))) == [("a", 3, 1), ("b", 6, 1)]


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
    assert any(warning.startswith("2 times ") for warning in read.warnings)
    assert read.nesting.self_ps.min() >= 0


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


def test_an_unknown_field_in_an_event_is_passed_over() -> None:
    read = cpu(event("e", 1, 2, a=1, extra=tag(99, 2) + length_prefixed(b"?") + number(98, 2**60)), event("f", 4, 1))
    assert rows(read) == [("e", 1, 2), ("f", 4, 1)]
    assert read.stats_of(0) == {"a": 1}


def test_of_a_repeated_field_the_last_counts() -> None:
    read = cpu(event("e", 1, 2, extra=number(3, 5 * 10**6)))
    assert rows(read) == [("e", 1, 5)]


def test_a_space_without_events_is_a_trace_without_events() -> None:
    for read in (trace(plane("/host:CPU")), trace(plane("/host:CPU", line("main"))), trace(errors=["nothing"])):
        assert read.n_events == 0
        assert read.stat_offsets.tolist() == [0]
        assert read.nesting.depth.tolist() == []
        assert read.plane_id.tolist() == []
        assert read.int_stat("any").tolist() == []
        assert len(read.sessions) == 1


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


def test_gzip_says_how_to_open_it() -> None:
    with pytest.raises(TraceError, match="compressed by gzip: give the path"):
        read_xspace(b"\x1f\x8b\x08" + bytes(20))


def test_a_compressed_string_that_is_not_gzip_is_refused() -> None:
    with pytest.raises(TraceError, match="compressed string of 3 bytes is not gzip"):
        cpu(event("e", 0, 1, z=Gz(raw=b"abc")))


def test_a_decompression_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(string_table, "MAX_COMPRESSED_TEXT_BYTES", 1000)
    assert cpu(event("e", 0, 1, z=Gz("x" * 1000))).stats_of(0)["z"] == "x" * 1000
    with pytest.raises(TraceError, match="more than 1000 bytes"):
        cpu(event("e", 0, 1, z=Gz("x" * 600)), event("f", 1, 1, z=Gz("y" * 600)))


def test_more_planes_or_lines_than_any_profiler_writes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xspace_messages, "MAX_PLANES", 3)
    monkeypatch.setattr(xspace_messages, "MAX_LINES", 5)
    trace(plane("p", *[line("t")] * 5), plane("q"), plane("r"))
    with pytest.raises(TraceError, match="6 lines, more than 5"):
        trace(plane("p", *[line("t")] * 6))
    with pytest.raises(TraceError, match="4 planes, more than 3"):
        trace(*[plane("p")] * 4)


def test_a_line_longer_than_a_block_is_one_line() -> None:
    n = 40_000
    read = cpu(*(event("even" if i % 2 == 0 else "odd", i, 1, i=i) for i in range(n)))
    assert (read.int_stat("i") == np.arange(n)).all()
    assert (read.start_ps == np.arange(n) * 10**6).all()
