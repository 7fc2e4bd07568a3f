"""Varints decoded all at once equal varints decoded one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import varint
from tfprof_widgets.read import PADDING, ByteView

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
