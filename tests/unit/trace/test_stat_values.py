"""Packed values of stats -> the same values, whatever promotion rules NumPy has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfprof_widgets.trace import StatValues, packed_values

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
