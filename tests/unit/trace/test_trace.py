"""Columns that a Trace makes of its stats, and how it tells planes and lines apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.builders import Ref, U, event, line, plane, trace
from tfprof_widgets.trace import DERIVED_LINE_BASE, Line, StatValues, Trace, packed_values


def drawn() -> Trace:
    return trace(
        plane(
            "/host:CPU",
            line(
                "main",
                event("a", 0, 9, i=5, u=U(2**63), f=0.25, s="x", _p=-1),
                event("b", 1, 2, i=U(7), s=Ref("y")),
                event("c", 4, 1, i="text", f=1),
                event("d", 6, 1, stats=[("i", 1), ("i", 2)]),
            ),
            line("second", event("a", 0, 1)),
        ),
        plane("/device:GPU:0", line("stream", event("kernel", 2, 2))),
    )


def test_a_column_has_the_values_of_its_kind_and_defaults_elsewhere() -> None:
    read = drawn()
    assert read.int_stat("i", default=-1).tolist() == [5, 7, -1, 2, -1, -1], "of both encodings"
    assert read.int_stat("i", default=-1, signed_only=True).tolist() == [5, 0, 0, 2, -1, -1], "like XProf"
    assert read.int_stat("_p").tolist() == [-1, 0, 0, 0, 0, 0]
    column = read.float_stat("f")
    assert column[0] == 0.25
    assert all(math.isnan(value) for value in column[1:])
    assert [read.strings[i] if i >= 0 else None for i in read.string_stat("s")] == ["x", "y", None, None, None, None]
    assert read.has_stat("f").tolist() == [True, False, True, False, False, False]
    assert read.names_matching(["a", "kernel", "never seen"]).tolist() == [True, False, False, False, True, True]


def test_a_stat_that_nobody_has_is_an_empty_column_also_where_there_are_none() -> None:
    read, without = drawn(), trace(plane("/host:CPU", line("main", event("a", 0, 1))))
    assert not read.has_stat("missing").any()
    assert read.int_stat("missing", default=3).tolist() == [3] * 6
    assert not len(read.keyed_stats("missing").event)
    assert without.string_stat("s").tolist() == [-1]
    assert not without.has_stat("s").any()


def test_line_offsets_and_planes_cut_the_event_table() -> None:
    read = drawn()
    assert read.line_offsets.tolist() == [0, 4, 5, 6]
    assert read.plane_id.tolist() == [0, 0, 0, 0, 0, 1]
    assert read.depth.tolist() == [0, 1, 1, 1, 0, 0]
    assert [read.events_of_plane(plane) for plane in range(2)] == [slice(0, 5), slice(5, 6)]


def test_derived_lines_are_known_by_their_id_in_32_bits() -> None:
    def is_derived(id_: int) -> bool:
        return Line(0, id_, "", "").is_derived

    assert is_derived(DERIVED_LINE_BASE)
    assert is_derived(DERIVED_LINE_BASE + 389)
    assert is_derived(DERIVED_LINE_BASE + 2**32)
    assert not is_derived(DERIVED_LINE_BASE + 390)
    assert not is_derived(DERIVED_LINE_BASE - 1)
    assert not is_derived(14)


def test_the_columns_cannot_be_written() -> None:
    read = drawn()
    for column in (read.start_ps, read.stats.shape, read.display_name_id, read.depth, read.nesting.self_ps):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_the_stats_of_several_events_are_those_of_each() -> None:
    trace = drawn()
    rows = np.array([3, 0, 5, 0, 2])
    assert trace.stats_of_each(rows) == [trace.stats_of(row) for row in rows.tolist()]
    assert trace.stats_of_each(rows)[1]["s"] == "x"
    assert trace.stats_of_each(rows[:0]) == []


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
