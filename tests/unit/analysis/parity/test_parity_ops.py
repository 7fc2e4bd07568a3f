"""Op statistics against XProf's framework_op_stats on real captures, to the picosecond, undoing exactly D4, D5,
D7 and D15.

XProf does not count what an XLA program runs on the host; there our ops are taken as if it had not been recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.unit.analysis.parity.parity_case import GPU_KINDS, KINDS, Case
from tests.unit.analysis.xprof_oracle import OpTotals, as_xprof, charged_to_roots, rows
from tfprof_widgets.analysis import IDLE, aggregate_ops, op_occurrences
from tfprof_widgets.trace import Trace

DEVICES = [
    ("v100", 0, 623_195.95),
    ("h100_eager", 0, 864_135.465),
    ("h100_lstm", 270, 189_278.565),
    ("h100_cnn_input", 334, 966_149.003),
]
"""Captures with devices, how many ops ran there, and for how long none did: without a graph no kernel names its op."""
OF_XPROF = {
    "operation": "name",
    "type": "type",
    "occurrences": "occurrences",
    "total_time": "total_time_us",
    "avg_time": "avg_time_us",
    "total_self_time": "total_self_time_us",
    "avg_self_time": "avg_self_time_us",
}
"""Our columns by those of XProf."""
N_SHOWN = 500
"""XProf cuts each side off after this many ops (D7)."""

every_kind = pytest.mark.parametrize("kind", KINDS)


def table_of(totals: dict[str, OpTotals], idle_ps: int) -> pd.DataFrame:
    records = [(name, op.type, op.occurrences, op.total_ps, op.self_ps) for name, op in totals.items()]
    records.append((IDLE, IDLE, 0, idle_ps, idle_ps))
    frame = pd.DataFrame(records, columns=["name", "type", "occurrences", "total_ps", "self_ps"])
    return frame.sort_values(["self_ps", "name"], ascending=[False, True], kind="stable").reset_index(drop=True)


def assert_same_as_xprof(shown: list[dict[str, Any]], expected: pd.DataFrame, whole_ps: int) -> None:
    assert len(shown) == len(expected)
    reached = 0
    for number, (row, want) in enumerate(zip(shown, expected.itertuples(index=False), strict=True), 1):
        assert (row["rank"], row["operation"], row["type"]) == (shown[0]["rank"] + number - 1, want.name, want.type)
        assert row["occurrences"] == want.occurrences
        assert row["total_time"] == want.total_ps / 1e6
        assert row["total_self_time"] == want.self_ps / 1e6
        # Quotients of the picoseconds compared above; XProf rounds them in another order.
        reached += want.self_ps
        count = want.occurrences or 1
        assert row["avg_time"] == pytest.approx(bool(want.occurrences) * want.total_ps / 1e6 / count, rel=1e-14)
        assert row["avg_self_time"] == pytest.approx(bool(want.occurrences) * want.self_ps / 1e6 / count, rel=1e-14)
        assert row["host_total_self_time_percent"] == pytest.approx(want.self_ps / whole_ps, rel=1e-14)
        assert row["Host_cumulative_total_self_time_percent"] == pytest.approx(reached / whole_ps, rel=1e-12)


@every_kind
@pytest.mark.parametrize("idle", [True, False])
def test_host_ops_with_the_stack_of_xprof_are_its_own_to_the_last_digit(
    kind: str, idle: bool, case_of: Callable[[str], Case]
) -> None:
    case = case_of(kind)
    expected = table_of(*case.quirky_ops)
    assert len(expected) > 10
    counts = (expected["name"] != IDLE) | idle
    whole_ps = expected.loc[counts, "self_ps"].sum()
    expected = expected[:N_SHOWN][counts[:N_SHOWN]]  # D7; idle time takes one of the rows even where it is not shown
    assert_same_as_xprof(case.their_ops(side="Host", idle=idle), expected, whole_ps)


@every_kind
def test_host_ops_equal_the_event_by_event_reading_without_the_quirks(
    kind: str, case_of: Callable[[str], Case]
) -> None:
    case = case_of(kind)
    expected = table_of(*case.plain_ops).set_index("name")
    ours = case.our_ops(side="Host").set_index("name").reindex(expected.index)
    assert ours["type"].tolist() == expected["type"].tolist()
    assert ours["occurrences"].tolist() == expected["occurrences"].tolist()
    assert ours["total_time_us"].tolist() == (expected["total_ps"] / 1e6).tolist()
    assert ours["total_self_time_us"].tolist() == (expected["self_ps"] / 1e6).tolist()
    np.testing.assert_array_equal(ours["self_time_ratio"], expected["self_ps"] / expected["self_ps"].sum())


def test_counting_what_xla_runs_takes_nothing_but_self_time_from_the_ops_around_it(
    case_of: Callable[[str], Case],
) -> None:
    """XProf counts no op of an XLA program on the host."""
    case = case_of("xla_fit")
    without, counted = (aggregate_ops(op_occurrences(trace)) for trace in (case.as_xprof_counts, case.trace))
    assert len(counted) > len(without)
    ours = counted.set_index("name").loc[without["name"]]
    assert ours["occurrences"].tolist() == without["occurrences"].tolist()
    assert ours["total_time_us"].tolist() == without["total_time_us"].tolist()
    assert (ours["total_self_time_us"].to_numpy() <= without["total_self_time_us"].to_numpy()).all()
    assert counted["total_self_time_us"].sum() > without["total_self_time_us"].sum()


@pytest.mark.parametrize(("kind", "n_ops", "idle_us"), DEVICES)
def test_ops_and_idle_time_of_the_devices_are_those_of_xprof(
    kind: str, n_ops: int, idle_us: float, case_of: Callable[[str], Case]
) -> None:
    """V100 is TV12."""
    case = case_of(kind)
    ours = case.our_ops(side="Device")
    assert len(ours) == n_ops + 1
    assert ours.set_index("name").loc[IDLE, "total_self_time_us"] == idle_us
    theirs = case.their_ops(side="Device")
    for column, name in OF_XPROF.items():
        assert [row[column] for row in theirs] == ours[name].tolist(), name
    assert [row["eager"] == "Eager" for row in theirs] == ours["eager"].tolist()


@pytest.mark.parametrize("kind", ["h100_lstm", "h100_cnn_input"])
def test_shares_and_tensor_cores_of_device_ops_are_those_of_xprof(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    ours, theirs = case.our_ops(side="Device", idle=False), case.their_ops(side="Device", idle=False)
    assert len(theirs) == len(ours) > 200
    # XProf shows 0 where no kernel was described.
    columns = {
        "device_total_self_time_percent": ours["self_time_ratio"],
        "device_cumulative_total_self_time_percent": ours["cumulative_ratio"],
        "gpu_tensorcore_utilization": ours["tensor_core_ratio"].fillna(0),
    }
    for name, column in columns.items():
        assert [row[name] for row in theirs] == pytest.approx(column.tolist(), rel=1e-12), name
    assert ours["tensor_core_ratio"].max() > 0


COLUMNS = {
    "rank": "rank",
    "kernel_name": "name",
    "registers_per_thread": "registers_per_thread",
    "shmem_bytes": "shared_memory_bytes",
    "block_dim": "block_dim",
    "grid_dim": "grid_dim",
    "occupancy_pct": "occupancy_pct",
    "is_op_tensor_core_eligible": "tensor_core_eligible",
    "is_kernel_using_tensor_core": "uses_tensor_core",
    "op_name": "op_name",
    "occurrences": "occurrences",
    "total_duration_us": "total_time_us",
    "avg_duration_us": "avg_time_us",
    "min_duration_us": "min_time_us",
    "max_duration_us": "max_time_us",
}
N_KERNELS_SHOWN = 1000
"""XProf keeps so many kernels (D7)."""


def of_unknown_vendor(trace: Trace) -> Trace:
    """The trace with a vendor on each plane that names none: we take those for Nvidia's, XProf does not."""
    planes = (replace(one, stats={"device_vendor": "unknown"} | one.stats) for one in trace.planes)
    return replace(trace, planes=tuple(planes))


def assert_same_kernels(trace: Trace, table: dict[str, Any]) -> None:
    theirs = rows(table)
    ours = charged_to_roots(as_xprof(of_unknown_vendor(trace))).kernels.frame
    assert len(theirs) == min(len(ours), N_KERNELS_SHOWN) > 0
    for want, got in zip(theirs, ours.head(N_KERNELS_SHOWN).to_dict("records"), strict=True):
        assert {name: got[name] for name in COLUMNS.values()} == {name: want[key] for key, name in COLUMNS.items()}


@pytest.mark.parametrize("kind", GPU_KINDS)
def test_kernels_of_a_capture_equal_xprof(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    assert_same_kernels(case.as_xprof_counts, case.theirs["kernel_stats"])
