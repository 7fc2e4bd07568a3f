"""A packed column gives back its values in as few bytes as they need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.trace.packed_column import packed_column


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_the_values_come_back(values: list[int]) -> None:
    assert packed_column(np.array(values, np.int64)).values().tolist() == values


@pytest.mark.parametrize(("span", "n_bytes"), [(255, 1), (256, 2), (65_536, 4), (2**32, 8)])
def test_the_range_decides_how_many_bytes_a_value_takes(span: int, n_bytes: int) -> None:
    assert packed_column(np.array([-7, span - 7], np.int64)).rest.itemsize == n_bytes


def test_equal_values_share_one() -> None:
    packed = packed_column(np.full(1000, 2**40))
    assert packed.rest.strides == (0,)
    assert packed.values().tolist() == [2**40] * 1000
