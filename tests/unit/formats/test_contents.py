"""Pieces of a buffer have the same number exactly where they hold the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tfprof_widgets.read import PADDING, ByteView, alike

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
