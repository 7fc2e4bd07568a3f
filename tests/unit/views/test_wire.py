"""Packs: what is put in comes out, and what cannot be put in exactly is refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.packs import unpack
from tfprof_widgets.show import Table, pack_bytes


@given(
    times=hnp.arrays(np.int64, st.integers(0, 50), elements=st.integers(-(2**53), 2**53)),
    text=st.text(max_size=30),
)
def test_a_pack_gives_back_its_meta_and_columns(times: np.ndarray, text: str) -> None:
    flags = np.arange(len(times), dtype=np.int64) % 2
    table = Table({"time_ps": (times, "f8"), "flag": (flags, "u1"), "bits": (times.view(np.uint64), "u8")})
    meta, tables = unpack(pack_bytes({"text": text}, {"events": table}))
    assert meta == {"text": text}
    np.testing.assert_array_equal(tables["events"]["time_ps"], times)
    np.testing.assert_array_equal(tables["events"]["flag"], flags)
    np.testing.assert_array_equal(tables["events"]["bits"], times.view(np.uint64))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.array([2**53 + 1]), "f8"),
        (np.array([-1]), "u1"),
        (np.array([256]), "u1"),
        (np.array([2**31]), "i4"),
        (np.array([0.1]), "f4"),
        (np.array([0.5]), "i4"),
    ],
)
def test_a_column_that_does_not_fit_its_wire_type_is_refused_by_name(values: np.ndarray, dtype: str) -> None:
    with pytest.raises(TypeError, match="'start_ps'.*without loss"):
        Table({"start_ps": (values, dtype)})


def test_nan_travels_as_nan() -> None:
    _, tables = unpack(pack_bytes({}, {"t": Table({"x": (np.array([np.nan, 1.0]), "f8")})}))
    np.testing.assert_array_equal(tables["t"]["x"], [np.nan, 1.0])


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(TypeError, match="differ in length"):
        Table({"a": (np.zeros(2), "f8"), "b": (np.zeros(3), "f8")})
