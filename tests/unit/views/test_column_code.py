"""Columns that are coded come back bit for bit, whatever is in them, and take fewer bytes where others tell of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.packs import unpack
from tests.vector_drawings import coded_tables
from tfprof_widgets.show import Segment, Table, TableCoder, pack_bytes

N = 200
_WHOLE = st.integers(-(2**53), 2**53)
_DOUBLES = st.floats(width=64) | st.sampled_from([0.0, -0.0, float("nan"), float("inf"), 2.0**53, -(2.0**53), 2.0**60])


@given(
    first=hnp.arrays(np.int64, N, elements=_WHOLE),
    second=hnp.arrays(np.int64, N, elements=_WHOLE | st.integers(0, 3)),
    double=hnp.arrays(np.float64, N, elements=_DOUBLES),
    number=hnp.arrays(np.int32, N),
    bits=hnp.arrays(np.uint64, N),
)
def test_every_column_comes_back_bit_for_bit(
    first: np.ndarray, second: np.ndarray, double: np.ndarray, number: np.ndarray, bits: np.ndarray
) -> None:
    times = np.cumsum(second % 1000)
    columns = {
        "start_ps": (times, "f8"),
        "duration_ps": (second, "f8"),
        "self_ps": (first, "f8"),
        "ratio": (double, "f8"),
        "name": (number, "i4"),
        "bits": (bits, "u8"),
    }
    table = Table(columns)
    _, tables = unpack(pack_bytes({}, {"events": table}))
    assert set(tables["events"]) == set(columns)
    for name, (values, _) in table.columns.items():
        assert tables["events"][name].tobytes() == values.tobytes(), name


def codes(table: Table) -> dict[str, str]:
    return {name: code["base"] if code else "" for name, _, code, _ in TableCoder(table.columns).coded()}


def test_each_column_gets_the_base_that_tells_most_of_it() -> None:
    expected = {"neighbours": "gap", "counted": "delta", "few": "plain", "same": "less", "fractions": "bits"}
    found = {name: codes(Table(columns)) for name, columns in coded_tables().items()}
    assert {name: set(one.values()) & {base} for name, base in expected.items() for one in [found[name]]} == {
        name: {base} for name, base in expected.items()
    }


def test_what_another_column_tells_takes_no_bytes() -> None:
    rng = np.random.default_rng(0)
    duration = rng.integers(0, 10**9, 5000) * 1000
    alone = Segment(Table({"duration_ps": (duration, "f8")}))
    end = np.cumsum(duration)
    both = {"duration_ps": (duration, "f8"), "self_ps": (duration, "f8"), "start_ps": (end - duration, "f8")}
    assert len(Segment(Table(both)).block.data) < len(alone.block.data) + 100
    # Multiples of 1000 of 30 binary digits: 4 bytes of 8.
    assert len(alone.block.data) < 0.55 * duration.nbytes


@pytest.mark.parametrize("n", [0, 1, 63])
def test_a_short_table_is_not_coded(n: int) -> None:
    assert set(codes(Table({"time_ps": (np.arange(n), "f8"), "ratio": (np.arange(n) / 3, "f8")})).values()) == {""}


@pytest.mark.parametrize("values", [np.full(N, -0.0), np.full(N, np.nan), np.arange(N) + 0.5, np.full(N, 2.0**60)])
def test_numbers_that_no_browser_counts_keep_their_bits(values: np.ndarray) -> None:
    assert codes(Table({"x": (values, "f8")}))["x"] in ("", "bits")


def test_a_sum_that_a_browser_cannot_reach_is_no_base() -> None:
    values = np.tile([2**53, 1 - 2**53], N)
    table = Table({"x": (values, "f8")})
    assert codes(table)["x"] in ("", "bits")
    np.testing.assert_array_equal(unpack(pack_bytes({}, {"t": table}))[1]["t"]["x"], values)
