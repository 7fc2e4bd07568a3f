"""A selected part of a profile has all its tables, about that part alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tfprof_widgets.analysis import Analysis, Selection, select
from tfprof_widgets.read import open_traces

TIME_COLUMN = {
    "ops": "total_self_time_us",
    "layers": "self_time_us",
    "source_lines": "self_time_us",
    "scopes": "self_time_us",
    "hlo_ops": "total_self_time_us",
    "kernels": "total_time_us",
}


@pytest.fixture(scope="module", params=["xla_fit", "v100"])
def results(request: pytest.FixtureRequest, capture_of: Callable[[str], Path]) -> Analysis:
    opened = open_traces(capture_of(request.param))
    return Analysis(opened.trace, opened.source_map)


def part(results: Analysis, low_ns: int, high_ns: int) -> Selection:
    return select(results, time_range_ns=(low_ns, high_ns), step=None, ops=None)


@pytest.mark.parametrize("table", TIME_COLUMN)
def test_the_time_of_two_parts_adds_up_to_that_of_the_whole(results: Analysis, table: str) -> None:
    last_ns = int(results.trace.end_ps.max()) // 1000 + 1
    step = results.steps.frame.iloc[len(results.steps.frame) // 2]
    middle_ns = (int(step["start_ps"]) + int(step["duration_ps"]) // 2) // 1000
    column = TIME_COLUMN[table]
    parts = [getattr(part(results, low, high), table) for low, high in ((0, middle_ns), (middle_ns, last_ns))]
    whole: pd.DataFrame = getattr(part(results, 0, last_ns), table)
    rounding_us = 1e-3 * whole["occurrences"].sum() if table == "kernels" else 1e-6  # kernels count whole nanoseconds
    assert sum(frame[column].sum() for frame in parts) == pytest.approx(whole[column].sum(), abs=rounding_us)
    if len(whole):
        assert 0 < parts[0][column].sum() < whole[column].sum()
    assert all(list(frame.columns) == list(whole.columns) for frame in parts)


@pytest.mark.parametrize("table", TIME_COLUMN)
def test_a_range_around_everything_gives_the_tables_of_the_profile(results: Analysis, table: str) -> None:
    around: pd.DataFrame = getattr(part(results, 0, int(results.trace.end_ps.max()) // 1000 + 1), table)
    whole: pd.DataFrame = getattr(select(results, time_range_ns=None, step=None, ops=None), table)
    assert around[TIME_COLUMN[table]].sum() == pytest.approx(whole[TIME_COLUMN[table]].sum())
    assert around["occurrences"].tolist() == whole["occurrences"].tolist()


def test_the_memory_events_of_a_part_lie_in_it(results: Analysis) -> None:
    low_ns = int(results.steps.frame["start_ps"].iloc[0]) // 1000
    high_ns = low_ns + int(results.steps.frame["duration_ps"].iloc[0]) // 1000
    for allocator in results.memory.allocators:
        inside = part(results, low_ns, high_ns).memory(allocator)
        assert inside["time_ms"].between(low_ns / 1e6, high_ns / 1e6).all()
        assert len(inside) <= len(results.memory.timeline(allocator))
