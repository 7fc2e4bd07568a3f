"""Texts taken out of a file together have the indices that they have one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.errors import without_controls
from tfprof_widgets.read import PADDING, ByteView, RawStrings

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
