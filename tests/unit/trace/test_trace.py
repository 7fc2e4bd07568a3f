"""A trace: its columns, nesting, packed stats and bounded texts."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfprof_widgets as tfprof
from tests.builders import Gz, Ref, U, event, line, plane, session, space, trace
from tfprof_widgets.errors import TraceError, without_controls
from tfprof_widgets.read import SAVED
from tfprof_widgets.trace import (
    DERIVED_LINE_BASE,
    Line,
    Nesting,
    Stats,
    StatTable,
    StatValues,
    Trace,
    all_decoded,
    clean_text,
    decoded,
    document,
    nest,
    packed_stats,
    packed_values,
    texts,
    unpacked,
    whole,
)
from tfprof_widgets.trace import stats as stat_table


def drawn() -> Trace:
    return trace(
        plane(
            "/host:CPU",
            line(
                "main",
                event("a", 0, 9, i=5, u=U(2**63), f=0.25, s="x", _p=-1),
                event("b", 1, 2, i=U(7), s=Ref("y")),
                event("c", 4, 1, i="text", f=1),
                event("d", 6, 1, stats=[("i", 1), ("i", 2)]),
            ),
            line("second", event("a", 0, 1)),
        ),
        plane("/device:GPU:0", line("stream", event("kernel", 2, 2))),
    )


def test_an_integer_column_reads_both_encodings_and_defaults_elsewhere() -> None:
    assert drawn().int_stat("i", default=-1).tolist() == [5, 7, -1, 2, -1, -1]
    assert drawn().int_stat("_p").tolist() == [-1, 0, 0, 0, 0, 0]


def test_an_integer_column_can_read_unsigned_values_as_zero_like_xprof() -> None:
    assert drawn().int_stat("i", default=-1, signed_only=True).tolist() == [5, 0, 0, 2, -1, -1]


def test_a_double_column_takes_doubles_only() -> None:
    column = drawn().float_stat("f")
    assert column[0] == 0.25
    assert all(math.isnan(value) for value in column[1:])


def test_a_string_column_indexes_the_string_table() -> None:
    read = drawn()
    assert [read.strings[i] if i >= 0 else None for i in read.string_stat("s")] == ["x", "y", None, None, None, None]


def test_a_stat_that_nobody_has_is_an_empty_column() -> None:
    read = drawn()
    assert not read.has_stat("missing").any()
    assert read.int_stat("missing", default=3).tolist() == [3] * 6
    assert not len(read.keyed_stats("missing").event)


def test_a_trace_without_stats_has_empty_columns() -> None:
    read = trace(plane("/host:CPU", line("main", event("a", 0, 1))))
    assert read.string_stat("s").tolist() == [-1]
    assert not read.has_stat("s").any()


def test_has_stat_and_names_matching_mark_events() -> None:
    read = drawn()
    assert read.has_stat("f").tolist() == [True, False, True, False, False, False]
    assert read.names_matching(["a", "kernel", "never seen"]).tolist() == [True, False, False, False, True, True]


def test_line_offsets_and_planes_cut_the_event_table() -> None:
    read = drawn()
    assert read.line_offsets.tolist() == [0, 4, 5, 6]
    assert read.plane_id.tolist() == [0, 0, 0, 0, 0, 1]
    assert read.depth.tolist() == [0, 1, 1, 1, 0, 0]


def test_derived_lines_are_known_by_their_id_in_32_bits() -> None:
    def is_derived(id_: int) -> bool:
        return Line(0, id_, "", "").is_derived

    assert is_derived(DERIVED_LINE_BASE)
    assert is_derived(DERIVED_LINE_BASE + 389)
    assert is_derived(DERIVED_LINE_BASE + 2**32)
    assert not is_derived(DERIVED_LINE_BASE + 390)
    assert not is_derived(DERIVED_LINE_BASE - 1)
    assert not is_derived(14)


def test_the_columns_cannot_be_written() -> None:
    read = drawn()
    for column in (read.start_ps, read.stats.shape, read.display_name_id, read.depth, read.nesting.self_ps):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_the_events_of_a_plane_are_one_slice() -> None:
    read = drawn()
    assert [read.events_of_plane(plane) for plane in range(2)] == [slice(0, 5), slice(5, 6)]


def test_the_stats_of_several_events_are_those_of_each() -> None:
    trace = drawn()
    rows = np.array([3, 0, 5, 0, 2])
    assert trace.stats_of_each(rows) == [trace.stats_of(row) for row in rows.tolist()]
    assert trace.stats_of_each(rows)[1]["s"] == "x"
    assert trace.stats_of_each(rows[:0]) == []


KEY = np.array([0, 1, 0, 1, 0, 2])
BITS = np.array([2**40, 7, 2**40 + 255, 2**63 + 7, 2**40 + 1, 5], np.uint64)


def weak(numbers: np.ndarray[Any, Any]) -> list[int]:
    """What NumPy before 2.0 made of a scalar beside an array, as NumPy 2 does of Python's ints: it takes the array's dtype."""
    return [int(number) for number in numbers]


@pytest.mark.parametrize("scalars", [np.asarray, weak])
def test_values_are_added_in_64_bits_and_not_in_the_bytes_of_the_rest(scalars: Any) -> None:
    packed = packed_values(KEY, BITS)
    assert [rest.dtype.itemsize for rest in packed.rest] == [1, 8, 1]
    packed = StatValues(packed.key, packed.n, scalars(packed.smallest), packed.rest)
    for place, key in enumerate(packed.key.tolist()):
        values = packed.values_at(place)
        assert values.tolist() == BITS[key == KEY].tolist()
        assert len(values) == 1 or values.dtype == np.uint64


def test_values_come_back_in_their_old_order() -> None:
    assert packed_values(KEY, BITS).unpacked(KEY).tolist() == BITS.tolist()


def nest_rows(*rows: tuple[int, int], scale: int = 1) -> Nesting:
    """Nest (start, end) rows of one line, given in order."""
    table = np.array(rows, np.int64).reshape(-1, 2) * scale
    return nest(np.zeros(len(table), np.int32), table[:, 0], table[:, 1] - table[:, 0])


def test_no_events_nest_to_nothing() -> None:
    assert nest_rows().depth.tolist() == []


def test_a_child_that_ends_with_its_parent_is_a_child() -> None:
    nesting = nest_rows((0, 10), (4, 10), (4, 6))
    assert nesting.depth.tolist() == [0, 1, 2]
    assert nesting.parent.tolist() == [-1, 0, 1]
    assert nesting.self_ps.tolist() == [4, 4, 2]


def test_an_event_that_starts_where_another_ends_is_its_sibling() -> None:
    nesting = nest_rows((0, 10), (0, 5), (5, 10), (10, 12))
    assert nesting.depth.tolist() == [0, 1, 1, 0]
    assert nesting.self_ps.tolist() == [0, 5, 5, 2]


def test_of_two_equal_events_the_first_row_is_the_parent() -> None:
    nesting = nest_rows((3, 9), (3, 9))
    assert nesting.parent.tolist() == [-1, 0]
    assert nesting.self_ps.tolist() == [0, 6]


def test_events_without_duration_have_no_children_and_lie_in_what_surrounds_them() -> None:
    nesting = nest_rows((0, 10), (5, 7), (5, 5), (5, 5), (7, 7), (10, 10))
    assert nesting.parent.tolist() == [-1, 0, 1, 1, 0, -1]
    assert nesting.self_ps.tolist() == [8, 2, 0, 0, 0, 0]


def test_an_outliving_event_cuts_the_span_it_starts_in_and_becomes_its_sibling() -> None:
    nesting = nest_rows((0, 20), (1, 10), (4, 8), (5, 15))
    assert nesting.parent.tolist() == [-1, 0, 1, 0]
    assert nesting.span_ps.tolist() == [20, 4, 1, 10]
    assert nesting.self_ps.tolist() == [6, 3, 1, 10]


def test_an_overlapping_line_leaves_the_lines_around_it_alone() -> None:
    line = np.repeat(np.array([0, 1, 2], np.int32), 3)
    start = np.array([0, 1, 2, 0, 3, 6, 0, 1, 2])
    end = np.array([9, 5, 3, 5, 9, 7, 9, 5, 3])
    nesting = nest(line, start, end - start)
    assert nesting.parent.tolist() == [-1, 0, 1, -1, -1, 4, -1, 6, 7]
    assert nesting.self_ps.tolist() == [5, 3, 1, 3, 5, 1, 5, 3, 1]


def test_times_too_wide_to_pack_with_their_line_nest_alike() -> None:
    rows = ((0, 7), (1, 5), (2, 3), (5, 7))
    wide, narrow = nest_rows(*rows, scale=2**57), nest_rows(*rows)
    line = np.full(len(rows), 9, np.int32)
    far = nest(line, np.array([a for a, _ in rows]) * 2**57, np.array([b - a for a, b in rows]) * 2**57)
    assert wide.parent.tolist() == narrow.parent.tolist() == far.parent.tolist() == [-1, 0, 1, 0]
    assert (far.self_ps == narrow.self_ps * 2**57).all()


events = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 12)), max_size=14)


@given(events)
def test_every_instant_is_charged_to_the_event_that_started_last(rows: list[tuple[int, int, int]]) -> None:
    rows = sorted(rows, key=lambda row: (row[0], row[1], -row[2]))
    line, start, duration = np.array(rows, np.int64).reshape(-1, 3).T
    charged = np.zeros(len(rows), int)
    for one in range(3):
        for instant in range(40):
            active = np.flatnonzero((line == one) & (start <= instant) & (instant < start + duration))
            if len(active):
                charged[active.max()] += 1
    nesting = nest(line.astype(np.int32), start, duration)
    assert nesting.self_ps.tolist() == charged.tolist()
    has_parent = nesting.parent >= 0
    assert (nesting.depth[has_parent] == nesting.depth[nesting.parent[has_parent]] + 1).all()
    assert (nesting.depth[~has_parent] == 0).all()
    assert ((nesting.span_ps >= 0) & (nesting.span_ps <= duration)).all()


rows = st.tuples(st.integers(0, 40), st.integers(2, 6), st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1)))
drawings = st.lists(st.lists(rows, max_size=5), max_size=30)


def plain(events: list[list[tuple[int, int, int]]]) -> Stats:
    stats = [stat for event in events for stat in event]
    return Stats(
        np.array([len(event) for event in events], np.int64),
        np.array([key for key, _, _ in stats], np.int32),
        np.array([kind for _, kind, _ in stats], np.uint8),
        np.array([bits for _, _, bits in stats], np.uint64),
    )


def listed(stats: Stats) -> list[list[tuple[int, int, int]]]:
    whole = list(zip(stats.key.tolist(), stats.kind.tolist(), stats.bits.tolist(), strict=True))
    ends = np.cumsum(stats.n).tolist()
    return [whole[end - n : end] for end, n in zip(ends, stats.n.tolist(), strict=True)]


@pytest.fixture(params=["few", "many"], autouse=True)
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a small table, whose columns are kept, and as a large one of many blocks."""
    if request.param == "many":
        monkeypatch.setattr(stat_table, "_FEW_STATS", -1)
        monkeypatch.setattr(stat_table, "_BLOCK_EVENTS", 4)


def assert_holds(table: StatTable, events: list[list[tuple[int, int, int]]]) -> None:
    assert listed(table.all_stats()) == events
    assert table.n_rows == sum(map(len, events))
    for key in range(41):
        found = table.of_key(key)
        expected = [(i, kind, bits) for i, event in enumerate(events) for own, kind, bits in event if own == key]
        assert list(zip(found.event.tolist(), found.kind.tolist(), found.bits.tolist(), strict=True)) == expected
        assert np.flatnonzero(table.holds(key)).tolist() == sorted({event for event, _, _ in expected})


@given(drawings)
def test_all_stats_and_those_of_each_key_come_back(events: list[list[tuple[int, int, int]]]) -> None:
    assert_holds(packed_stats(plain(events)), events)


@given(drawings, st.randoms())
def test_the_stats_of_some_events_in_any_order(events: list[list[tuple[int, int, int]]], random: object) -> None:
    order = list(range(len(events)))
    random.shuffle(order)  # type: ignore[attr-defined]
    some = np.array(order[: len(order) // 2 + 1], np.int64)
    table = packed_stats(plain(events))
    assert listed(table.of(some)) == [events[i] for i in some.tolist()]
    assert_holds(table.taken(some), [events[i] for i in some.tolist()])


def test_events_with_hundreds_of_stats_have_a_shape() -> None:
    events = [[(k % 7, 3, k) for k in range(300)], [(1, 3, 5)], [(k % 7, 3, 2 * k) for k in range(300)]]
    table = packed_stats(plain(events))
    assert_holds(table, events)
    assert len(table.shapes.n_stats) == 2


def test_a_thue_morse_word_and_its_complement_are_two_shapes() -> None:
    """Sums in which the powers of one odd number tell the places are the same for both."""
    word = [place.bit_count() % 2 for place in range(4096)]
    events = [[(key, 3, 7) for key in word], [(1 - key, 3, 7) for key in word]]
    table = packed_stats(plain(events))
    assert_holds(table, events)
    assert len(table.shapes.n_stats) == 2


def test_no_two_events_alike_have_a_shape_each() -> None:
    events = [[(i, 3, i), (j, 4, j)] for i in range(40) for j in range(40)]
    table = packed_stats(plain(events))
    assert_holds(table, events)
    assert len(table.shapes.n_stats) == 1600


def test_equal_values_take_no_bytes_and_near_ones_one() -> None:
    table = packed_stats(plain([[(0, 3, 2**40), (1, 3, 2**50 + i % 200)] for i in range(1000)]))
    assert sum(rest.nbytes for block in table.blocks for rest in block.rest) == 1000
    assert table.shape.nbytes == 1000


@given(drawings, st.randoms(use_true_random=False))
def test_stats_of_some_events_come_in_the_order_asked_for(
    events: list[list[tuple[int, int, int]]], rng: Random
) -> None:
    asked = [rng.randrange(len(events)) for _ in range(2 * len(events))]
    found = packed_stats(plain(events)).of(np.array(asked, np.int64))
    assert listed(found) == [events[i] for i in asked]


EVIL = "net/\x1b[31mevil\x1b]0;title\x07\x9b2J\r\x00\x08"
SHOWN = r"net/\x1b[31mevil\x1b]0;title\x07\x9b2J\x0d\x00\x08"


def test_controls_become_escapes_and_breaks_of_lines_stay() -> None:
    assert without_controls(EVIL) == SHOWN
    assert without_controls("a\tb\r\nc\n\u00e9") == "a\tb\r\nc\n\u00e9"


def test_all_ways_in_give_the_same_text() -> None:
    raw = EVIL.encode()
    assert {decoded(raw), clean_text(EVIL), *texts([EVIL]), *all_decoded([raw, raw])} == {SHOWN}
    assert all_decoded([raw, b"\xff", b"\x0b", b""]) == [SHOWN, r"\xff", "\x0b", ""]


@pytest.fixture
def evil(tmp_path: Path) -> tfprof.Profile:
    """A profile whose names all hold controls, in a directory that does, too."""
    ops = [event("train", 0, 900, _r=1, step_num=0)]
    ops += [event(f"{EVIL}:MatMul", 10, 500, stats={EVIL: EVIL, "r": Ref(EVIL), "z": Gz(EVIL)}, display_name=EVIL)]
    content = space(session(), plane("/host:CPU", line(EVIL, *ops)), plane(EVIL), hostnames=[EVIL], warnings=[EVIL])
    directory = tmp_path / "\x1b[2J"
    (directory / "plugins" / "profile" / "run").mkdir(parents=True)
    (directory / "plugins" / "profile" / "run" / "h.xplane.pb").write_bytes(content)
    saved = {"version": 1, "title": EVIL, "notices": [EVIL], "runs": ["run"]}
    (directory / SAVED).write_text(json.dumps(saved))
    return tfprof.load(directory)


def test_nothing_that_is_printed_of_a_profile_holds_a_control(evil: tfprof.Profile) -> None:
    printed = [
        repr(evil),
        evil.text(),
        evil.report(),
        evil.tree_text(),
        *evil.notices,
        evil.title,
        *evil.trace.strings,
    ]
    printed += [
        evil.ops.to_string(),
        evil.events.to_string(),
        evil.steps.to_string(),
        repr(evil.overview),
        repr(evil.advice),
    ]
    assert [text for text in printed if without_controls(text) != text] == []
    assert SHOWN in evil.text()


def test_an_error_names_a_file_without_its_controls(tmp_path: Path) -> None:
    file = tmp_path / "\x1b[2J.xplane.pb"
    file.write_bytes(b"\xff" * 9)
    with pytest.raises(TraceError, match=r"\\x1b\[2J\.xplane\.pb") as refused:
        tfprof.load(file)
    assert "\x1b" not in str(refused.value)


def test_a_chrome_trace_has_no_controls_either(tmp_path: Path) -> None:
    span = {"ph": "X", "name": EVIL, "pid": 1, "tid": 0, "ts": 1, "dur": 5, "args": {EVIL: EVIL}}
    name = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": EVIL}}
    (tmp_path / "h.trace.json").write_text(json.dumps({"traceEvents": [name, span]}))
    trace = tfprof.load(tmp_path / "h.trace.json").trace
    assert SHOWN in trace.strings
    assert not [text for text in (*trace.strings, trace.planes[0].name, trace.lines[0].name) if "\x1b" in text]


PACKED = gzip.compress(b"x" * 100, mtime=0)


@pytest.mark.parametrize(
    "content",
    [PACKED, PACKED + bytes(16), gzip.compress(b"x" * 60, mtime=0) + gzip.compress(b"x" * 40, mtime=0)],
    ids=["one", "padded", "two"],
)
def test_what_was_packed_in_one_stream_or_several_is_unpacked_up_to_the_limit(content: bytes) -> None:
    assert unpacked(content, 100) == b"x" * 100
    with pytest.raises(TraceError, match="unpacks to more than 99 bytes"):
        unpacked(content, 99)


@pytest.mark.parametrize(
    ("content", "said"),
    [(PACKED[:-9], "is truncated: its .* end inside the gzip stream"), (b"\x1f\x8bjunkjunk", "not whole")],
    ids=["cut", "junk"],
)
def test_what_was_not_packed_whole_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        unpacked(content, 100)


@pytest.mark.parametrize("raws", [[], [b""], [b"a", "é".encode(), b""], [b"a\0b", b"c"], [b"\xc3", b"\xa9"]])
def test_many_texts_are_decoded_as_one_by_one(raws: list[bytes]) -> None:
    assert all_decoded(raws) == [decoded(raw) for raw in raws]


@pytest.mark.parametrize("text", ["plain", "é", "\ud800", "a\udfffb"])
def test_any_text_becomes_one_that_can_be_written(text: str) -> None:
    for clean in (clean_text(text), *texts([text])):
        clean.encode("utf-8")
    assert "\ud800" in text or "\udfff" in text or clean_text(text) == text


def test_bytes_that_are_no_text_become_escapes() -> None:
    assert decoded(b"caf\xe9") == "caf\\xe9"
    assert decoded("café".encode()) == "café"


@pytest.mark.parametrize("values", ["ab", [1], [None], {"a": "b"}])
def test_a_list_of_something_else_is_no_list_of_texts(values: Any) -> None:
    with pytest.raises(TypeError):
        texts(values)


@pytest.mark.parametrize("value", [-1, 5, 1.0, True, "1", None, 2**70])
def test_what_is_no_whole_number_of_a_range_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"in \[0, 5\)"):
        whole(value, 0, 5)


def test_a_document_has_its_version_and_not_too_many_lists() -> None:
    text = b'{"version": 3, "x": [[], {}]}'
    assert document(text, 3, most_brackets=4)["x"] == [[], {}]
    for content, said in ((text, "more than 3 lists"), (b'{"version": 2}', "version is not 3"), (b"{", "no JSON")):
        with pytest.raises(TraceError, match=said):
            document(content, 3, most_brackets=3)
