"""A column of texts behaves like the sequence of its texts, and tells each distinct one once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.read import Texts

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
