"""Op statistics against XProf's framework_op_stats on real captures, to the picosecond, undoing exactly D4, D5 and D7."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.unit.analysis import xprof_oracle
from tests.unit.analysis.xprof_oracle import OpTotals, host_ops, rows, xprof
from tfprof_widgets.analysis.ops import IDLE, aggregate_ops, op_occurrences
from tfprof_widgets.store.trace import Trace
from tfprof_widgets.store.xspace import read_xspace

N_SHOWN = 500
"""XProf cuts each side off after this many ops (D7)."""


def table_of(totals: dict[str, OpTotals], idle_ps: int) -> pd.DataFrame:
    records = [(name, op.type, op.occurrences, op.total_ps, op.self_ps) for name, op in totals.items()]
    records.append((IDLE, IDLE, 0, idle_ps, idle_ps))
    frame = pd.DataFrame(records, columns=["name", "type", "occurrences", "total_ps", "self_ps"])
    return frame.sort_values(["self_ps", "name"], ascending=[False, True], kind="stable").reset_index(drop=True)


def assert_same_as_xprof(shown: list[dict[str, Any]], expected: pd.DataFrame) -> None:
    assert len(shown) == min(len(expected), N_SHOWN)
    whole = expected["self_ps"].sum()
    for row, want in zip(shown, expected.itertuples(index=False), strict=False):
        assert (row["operation"], row["type"], row["occurrences"]) == (want.name, want.type, want.occurrences)
        assert row["total_time"] == want.total_ps / 1e6
        assert row["total_self_time"] == want.self_ps / 1e6
        # A quotient of the picoseconds compared above; XProf rounds it in another order.
        assert row["host_total_self_time_percent"] == pytest.approx(want.self_ps / whole, rel=1e-15)


@pytest.fixture(scope="module", params=["keras", "quickstart", "v100"])
def capture(request: pytest.FixtureRequest) -> tuple[Trace, list[dict[str, Any]]]:
    path: Path = request.getfixturevalue(f"{request.param}_xplane")
    shown = rows(xprof(path, "framework_op_stats")["framework_op_stats"][0])
    return read_xspace(path.read_bytes()), shown


@pytest.mark.tensorflow
def test_host_ops_with_the_stack_of_xprof_are_its_own_to_the_last_digit(
    capture: tuple[Trace, list[dict[str, Any]]],
) -> None:
    trace, shown = capture
    expected = table_of(*host_ops(trace, has_quirks=True))
    assert_same_as_xprof([row for row in shown if row["host_or_device"] == "Host"], expected)


@pytest.mark.tensorflow
def test_host_ops_equal_the_event_by_event_reading_without_the_quirks(
    capture: tuple[Trace, list[dict[str, Any]]],
) -> None:
    trace, _ = capture
    expected = table_of(*host_ops(trace, has_quirks=False)).set_index("name")
    ours = aggregate_ops(op_occurrences(trace), idle=True)
    ours = ours[ours["device"] == "Host"].set_index("name").reindex(expected.index)
    assert ours["type"].tolist() == expected["type"].tolist()
    assert ours["occurrences"].tolist() == expected["occurrences"].tolist()
    assert ours["total_time_us"].tolist() == (expected["total_ps"] / 1e6).tolist()
    assert ours["total_self_time_us"].tolist() == (expected["self_ps"] / 1e6).tolist()
    np.testing.assert_array_equal(ours["self_time_ratio"], expected["self_ps"] / expected["self_ps"].sum())


@pytest.mark.tensorflow
def test_ops_untouched_by_the_quirks_equal_xprof_directly(capture: tuple[Trace, list[dict[str, Any]]]) -> None:
    trace, shown = capture
    quirky, plain = host_ops(trace, has_quirks=True)[0], host_ops(trace, has_quirks=False)[0]
    ours = aggregate_ops(op_occurrences(trace))
    ours = ours[ours["device"] == "Host"].set_index("name")
    compared = 0
    for row in shown:
        name = row["operation"]
        if row["host_or_device"] == "Host" and name != IDLE and quirky[name] == plain.get(name):
            compared += 1
            assert ours.loc[name, "total_time_us"] == row["total_time"]
            assert ours.loc[name, "total_self_time_us"] == row["total_self_time"]
            assert ours.loc[name, "occurrences"] == row["occurrences"]
            assert ours.loc[name, "eager"] == (row["eager"] == "Eager")
    assert compared > 20


def test_idle_time_of_the_devices_is_that_of_xprof(v100_xplane: Path) -> None:
    shown = rows(xprof_oracle.xprof(v100_xplane, "framework_op_stats")["framework_op_stats"][0])
    theirs = [row for row in shown if row["host_or_device"] == "Device"]
    ours = aggregate_ops(op_occurrences(read_xspace(v100_xplane.read_bytes())), idle=True)
    ours = ours[ours["device"] == "Device"]
    assert [row["operation"] for row in theirs] == ours["name"].tolist() == [IDLE]
    assert theirs[0]["total_self_time"] == ours["total_self_time_us"].iloc[0]
