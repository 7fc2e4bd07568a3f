"""Fields of many messages found together equal those that protobuf reads one by one; what only protobuf can read is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import number, tag, tagged, varint
from tfprof_widgets.read import FIELDS, MESSAGES, PADDING, ByteView, FieldRows

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
