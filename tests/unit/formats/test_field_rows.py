"""Fields, events, varints and texts read many at once equal those that protobuf reads one by one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.builders import number, tag, tagged, varint
from tfprof_widgets.errors import without_controls
from tfprof_widgets.read import (
    FIELDS,
    MESSAGES,
    PADDING,
    BytesContent,
    ByteView,
    FieldRows,
    FramingError,
    RawStrings,
    Texts,
    alike,
    fields,
    follow_events,
    xspace_events,
)

NAME, ID, OPERANDS = (FIELDS["Instruction"][name] for name in ("name", "id", "operand_ids"))
UNKNOWN, BEYOND = 99, 2_000
"""Numbers that no one asks for, the second of more bits than are kept."""

ids = st.integers(-(2**63), 2**63 - 1)
instructions = st.builds(
    MESSAGES["Instruction"], name=st.binary(max_size=300), id=ids, operand_ids=st.lists(ids, max_size=5)
)


others = st.sampled_from(
    [
        b"",
        tagged(UNKNOWN, b"more"),
        tagged(BEYOND, b"more"),
        number(UNKNOWN, 2**40),
        tag(UNKNOWN, 1) + bytes(8),
        tag(UNKNOWN, 5) + bytes(4),
    ]
)


def rows_of(*raws: bytes) -> FieldRows:
    ends = np.cumsum([len(raw) for raw in raws])
    return FieldRows(ByteView(b"".join((*raws, PADDING))), np.append(0, ends[:-1]), ends, (NAME, ID, OPERANDS))


def contents(rows: FieldRows, wanted: int) -> dict[int, bytes]:
    found = zip(*(part.tolist() for part in rows.content(wanted)), strict=True)
    return {row: rows.view.content[begin:end] for row, begin, end in found}


@given(st.lists(st.tuples(others, instructions, others), min_size=1, max_size=8))
def test_fields_are_those_that_protobuf_reads_whatever_stands_around_them(
    drawn: list[tuple[bytes, Any, bytes]],
) -> None:
    wanted = [one for _, one, _ in drawn]
    rows = rows_of(*(before + one.SerializeToString() + after for before, one, after in drawn))
    assert contents(rows, NAME) == {i: one.name for i, one in enumerate(wanted) if one.name}
    assert rows.varint(ID).tolist() == [one.id for one in wanted]
    n, values = rows.packed(OPERANDS)
    assert n.tolist() == [len(one.operand_ids) for one in wanted]
    assert values.tolist() == [value for one in wanted for value in one.operand_ids]
    assert not rows.is_irregular.any()


def test_fields_in_any_order_are_found_and_no_message_has_none() -> None:
    rows = rows_of(number(ID, 7) + tagged(NAME, b"a"), b"", tagged(NAME, b"b"))
    assert (contents(rows, NAME), rows.varint(ID).tolist()) == ({0: b"a", 2: b"b"}, [7, 0, 0])
    assert not rows.is_irregular.any()
    empty = FieldRows(ByteView(PADDING), np.empty(0, np.int64), np.empty(0, np.int64), (NAME,))
    assert [len(part) for part in (*empty.content(NAME), *empty.packed(OPERANDS))] == [0] * 5


@pytest.mark.parametrize(
    "odd",
    [
        tagged(NAME, b"a") + tagged(NAME, b"b"),
        number(NAME, 1),
        tagged(NAME, b"a")[:-1],
        tag(NAME, 2) + varint(2**63),
        tag(NAME, 3),
        number(0, 1),
        b"\xff" * 11,
        tagged(OPERANDS, b"\x80"),
        number(OPERANDS, 1),
        number(UNKNOWN, 1) * 10_000,
    ],
    ids=[
        "twice",
        "other_type",
        "truncated",
        "endless",
        "group",
        "number_0",
        "no_tag",
        "half_a_varint",
        "not_packed",
        "many_fields",
    ],
)
def test_a_message_that_only_protobuf_can_read_is_told_and_spoils_no_other(odd: bytes) -> None:
    rows = rows_of(tagged(NAME, b"before") + number(ID, 1), odd, tagged(NAME, b"after") + number(ID, 3))
    names, found = contents(rows, NAME), rows.varint(ID)
    rows.packed(OPERANDS)
    assert rows.is_irregular.tolist() == [False, True, False]
    assert (names[0], names[2], found[[0, 2]].tolist()) == (b"before", b"after", [1, 3])


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _event(rng: random.Random) -> bytes:
    stats = b"".join(b"\x22\x04\x08" + bytes([rng.randrange(128)]) + b"\x20\x10" for _ in range(rng.randrange(30)))
    return b"\x08" + _varint(rng.randrange(1, 500)) + b"\x10" + _varint(rng.randrange(2**40)) + stats


def _framed(events: list[bytes]) -> bytes:
    return b"".join(b"\x22" + _varint(len(event)) + event for event in events)


@pytest.fixture(scope="module")
def events() -> list[bytes]:
    rng = random.Random(7)
    return [_event(rng) for _ in range(20_000)]


def test_events_are_found_between_other_fields(events: list[bytes]) -> None:
    head, tail = b"\x08\x05", b"\x5a\x01x"
    raw = head + _framed(events) + tail
    found = follow_events(raw, len(head))
    assert found is not None
    got, end = found
    assert raw[end:] == tail
    spans = zip(got.begin.tolist(), got.end.tolist(), strict=True)
    assert [raw[low:high] for low, high in spans] == events


def test_a_part_holds_its_own_bytes(events: list[bytes]) -> None:
    found = follow_events(_framed(events), 0)
    assert found is not None
    part = found[0].part(100, 103)
    assert [part.raw[a:b] for a, b in zip(part.begin.tolist(), part.end.tolist(), strict=True)] == events[100:103]


def test_another_field_between_the_events_is_left_to_protobuf(events: list[bytes]) -> None:
    raw = _framed(events[:10_000]) + b"\x5a\x01x" + _framed(events[10_000:])
    found = follow_events(raw, 0)
    assert found is None or raw[found[1]] == 0x5A


def test_a_length_of_three_bytes_is_left_to_protobuf(events: list[bytes]) -> None:
    raw = _framed([*events[:10_000], b"\x08\x01" + bytes(40_000), *events[10_000:]])
    found = follow_events(raw, 0)
    assert found is None or found[1] < len(raw)


def test_a_truncated_event_does_not_count(events: list[bytes]) -> None:
    whole = _framed(events)
    found = follow_events(whole[:-1], 0)
    assert found is not None
    assert len(found[0]) == len(events) - 1


def test_few_bytes_are_left_to_protobuf(events: list[bytes]) -> None:
    assert follow_events(_framed(events[:100]), 0) is None


@pytest.mark.parametrize("low", [1, 2**7, 2**14, 2**21])
def test_events_of_many_names_are_followed_at_many_places_too(low: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []
    ends = xspace_events._ends
    monkeypatch.setattr(xspace_events, "_ends", lambda octets, at: rounds.append(len(at)) or ends(octets, at))
    stats = b"\x22\x04\x08\x05\x20\x10" * 10
    events = [b"\x08" + _varint(low + k % low) + b"\x10" + _varint(k << 20) + stats for k in range(20_000)]
    found = follow_events(_framed(events), 0)
    assert found is not None
    assert len(found[0]) == len(events)
    assert len(rounds) < len(events) / 100


@pytest.mark.parametrize("n_bytes", [0, 1, 127, 128, 300, 16_383, 16_384, 70_000])
def test_fields_of_a_tag_come_as_one_where_they_stand_in_a_row(n_bytes: int) -> None:
    row = b"".join(tagged(4, b"x" * n) for n in (3, n_bytes, 0, 5))
    content = tagged(2, b"name") + row + tagged(5, b"stat") + tagged(4, b"") + number(1, 7)
    alone = list(fields(BytesContent(content), 0, len(content)))
    as_rows = list(fields(BytesContent(content), 0, len(content), rows_of=0x22))
    assert [start for _, _, start, _, _ in alone if start not in {one[2] for one in as_rows}]
    assert b"".join(content[start:last] for _, _, start, _, last in as_rows) == content
    assert {start for _, _, start, _, _ in as_rows} <= {start for _, _, start, _, _ in alone}
    if n_bytes < 2**14:
        assert [key for key, *_ in as_rows] == [2, 4, 5, 4, 1]


def test_a_row_of_fields_that_ends_behind_its_message_is_told() -> None:
    content = tagged(4, b"abc") * 20
    with pytest.raises(FramingError, match="truncated"):
        list(fields(BytesContent(content), 0, len(content) - 1, rows_of=0x22))


pieces = st.one_of(st.binary(max_size=3), st.builds(bytes.__mul__, st.binary(max_size=40), st.integers(0, 6)))


@given(st.lists(pieces, max_size=12))
@example([bytes(n) for n in (0, 1, 8, 9, 128, 129, 8, 129)])
@example([b"\0\0\0\x80" * 2 + b"\0" * 8, b"\0" * 8 + b"\0\0\0\x80" * 2, b"\0" * 16])
def test_pieces_are_numbered_by_their_bytes_as_they_occur(raws: list[bytes]) -> None:
    end = np.cumsum([len(raw) for raw in raws], dtype=np.int64)
    begin = end - np.array([len(raw) for raw in raws], np.int64)
    number, first = alike(ByteView(b"".join((*raws, PADDING))), begin, end)
    distinct = list(dict.fromkeys(raws))
    assert number.tolist() == [distinct.index(raw) for raw in raws]
    assert first.tolist() == [raws.index(raw) for raw in distinct]


@pytest.mark.parametrize("raw", [b"a\xff", b"\xed\xa0\x80"])
def test_what_follows_a_piece_does_not_count(raw: bytes) -> None:
    view = ByteView(raw + b"x" + raw + b"y" + PADDING)
    begin = np.array([0, len(raw) + 1])
    assert alike(view, begin, begin + len(raw))[0].tolist() == [0, 0]


raws = st.one_of(
    st.sampled_from([b"", b"MatMul", b"\xff", b"\\xff", "µ".encode(), "核".encode()]), st.binary(max_size=4)
)


@given(st.lists(st.lists(raws, max_size=6), max_size=4))
def test_texts_of_any_bytes_are_kept_once_in_the_order_in_which_they_come(parts: list[list[bytes]]) -> None:
    together, alone = RawStrings(), RawStrings()
    for part in parts:
        length = np.array([len(raw) for raw in part], np.int64)
        found = together.text_ids(ByteView(b"".join((*part, PADDING))), np.cumsum(length) - length, length)
        assert found.tolist() == [alone.text_id(raw) for raw in part]
    assert together.texts == alone.texts
    assert [together.id_of(text) for text in together.texts] == list(range(len(together.texts)))
    wanted = (without_controls(raw.decode("utf-8", "backslashreplace")) for part in parts for raw in part)
    assert together.texts == list(dict.fromkeys(["", *wanted]))


words = st.lists(st.sampled_from(["", "add", "dot", "fusion", "\u00b5"]), max_size=12)


@given(words, st.integers(-12, 12), st.integers(-12, 12))
def test_rows_are_those_of_the_sequence(texts: list[str], low: int, high: int) -> None:
    column = Texts.of(texts)
    assert (list(column), len(column), column[low:high]) == (texts, len(texts), tuple(texts[low:high]))
    assert [column[row] for row in range(len(texts))] == texts
    assert column.at(column.code) == texts


@given(words)
def test_a_text_is_told_once_and_asked_for_by_its_code(texts: list[str]) -> None:
    column = Texts.of(texts)
    assert column.distinct == tuple(dict.fromkeys(texts))
    assert column.is_in(("add", "dot")).tolist() == [text in ("add", "dot") for text in texts]
    assert [column.code_of(text) for text in texts] == column.code.tolist()
    assert column.code_of("nowhere") == -1


@given(st.lists(st.integers(0, 3), max_size=9))
def test_a_table_may_hold_a_text_twice(code: list[int]) -> None:
    table = ("a", "b", "a", "")
    column = Texts.coded(np.array(code, np.int64), table)
    assert list(column) == [table[one] for one in code]
    assert sorted(column.distinct) == ["", "a", "b"]


def test_a_column_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Texts.of(["a", "b"]).code[0] = 1


values = st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 1), st.integers(0, 63).map(lambda bit: 2**bit))


@given(st.lists(st.tuples(values, st.integers(1, 10)), min_size=1, max_size=30))
def test_varints_of_every_length_keep_their_value(drawn: list[tuple[int, int]]) -> None:
    encoded = [varint(value, min_length=length) for value, length in drawn]
    ends = np.cumsum([len(one) for one in encoded])
    value, size = ByteView(b"".join(encoded) + PADDING).varints(ends - [len(one) for one in encoded])
    assert value.tolist() == [value for value, _ in drawn]
    assert size.tolist() == [len(one) for one in encoded]


def test_a_varint_without_an_end_or_beyond_64_bits_has_no_length() -> None:
    for content in (b"\xff" * 10 + b"\x01", b"\x80" * 12, b"\xff" * 9 + b"\x02"):
        _, size = ByteView(content + PADDING).varints(np.zeros(1, np.int64))
        assert size.tolist() == [0]
