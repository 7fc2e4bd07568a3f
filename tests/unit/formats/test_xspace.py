"""Reading an XSpace: what each legal way of writing becomes."""

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
from tfprof_widgets.read import read_xspace
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
    assert read.stats.of(np.array([1])).bits.tolist() == list(range(300))
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


def test_absolute_timestamps_count_from_the_noted_start() -> None:
    lines = (
        line("abs", event("a", 1, 1), timestamp_ns=EPOCH_NS + 2000),
        line("rel", event("b", 1, 1), timestamp_ns=5000),
    )
    assert rows(trace(session(), plane("/host:CPU", *lines))) == [("a", 3, 1), ("b", 6, 1)]


def test_an_absolute_timestamp_just_before_the_noted_start_is_not_taken_for_a_relative_one() -> None:
    assert rows(trace(session(), plane("/host:CPU", line("x", event("a", 9, 1), timestamp_ns=EPOCH_NS - 5000)))) == [
        ("a", 4, 1)
    ]


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


def test_a_line_that_starts_beyond_two_weeks_is_cut_and_reported() -> None:
    read = trace(session(), plane("/host:CPU", line("x", event("a", 0, 1), event("b", 0, 1), timestamp_ns=2**63 - 1)))
    assert any(warning.startswith("2 times ") for warning in read.warnings)


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
