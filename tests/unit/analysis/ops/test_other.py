"""Copies, and calls of `tf.function`s."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.builders import Event, U, event, line, plane, trace
from tfprof_widgets.analysis import Analysis, compute_tf_functions

TO_DEVICE, TO_HOST = "host to device", "device to host"


def copy(name: str, at: float, us: float, call: int, **stats: Any) -> Event:
    kinds = {"memcpy_details": f"kind_src:pinned kind_dst:device size:{2000 * call} dest:0 async:1"}
    return event(name, at, us, correlation_id=U(call), **kinds | stats)


def drawn(*streams: tuple[Event, ...], n_devices: int = 1) -> pd.DataFrame:
    lines = [line(f"Stream #{k}", *events, id=k + 1) for k, events in enumerate(streams)]
    devices = [plane(f"/device:GPU:{k}", *lines) for k in range(n_devices)]
    steps = [event("train", at, 100, _r=1, step_num=at // 100, group_id=at // 100) for at in (0, 100)]
    return Analysis(trace(plane("/host:CPU", line("python", *steps)), *devices)).copies


def test_a_copy_is_hidden_while_a_kernel_runs_on_its_device_and_not_behind_copies_and_memsets() -> None:
    kernels = (event("gemm", 12, 3, correlation_id=U(8)), event("gemm", 13, 4, correlation_id=U(9)))
    others = (event("Memset", 20, 5, correlation_id=U(7), Memset_details="kind:device"), copy("MemcpyD2H", 10, 10, 2))
    copies = drawn((copy("MemcpyH2D", 10, 10, 1), copy("MemcpyH2D", 20, 5, 3)), kernels, others, n_devices=2)
    found = copies.set_index("direction")[["occurrences", "bytes", "hidden_time_ms", "exposed_time_ms", "gb_per_s"]]
    assert found.loc[TO_DEVICE].tolist() == pytest.approx([4, 16_000, 0.010, 0.020, 16_000 / 30e3])
    assert found.loc[TO_HOST].tolist() == pytest.approx([2, 8_000, 0.010, 0.010, 8_000 / 20e3])


@pytest.mark.parametrize(("back_at", "n"), [(30, 1), (5, 0), (130, 0)], ids=["later", "before", "in the next step"])
def test_a_round_trip_ends_in_its_step(back_at: int, n: int) -> None:
    out = copy("MemcpyD2H", 10, 10, 1, **{"from": "net/a", "to": "net/on_host"}, group_id=0)
    back = copy("MemcpyH2D", back_at, 5, 2, **{"from": "net/on_host", "to": "net/b"}, group_id=back_at // 100)
    copies = drawn((out, back))
    assert copies.set_index("direction")["round_trips"].to_dict() == {TO_HOST: 0, TO_DEVICE: n}


def test_sizes_that_no_memory_has_add_up_to_none_below_0() -> None:
    huge = {"memcpy_details": f"size:{'9' * 18}"}
    copies = drawn(tuple(copy("MemcpyH2D", at, 1, 1, **huge) for at in range(0, 40, 2)))
    assert copies["bytes"].tolist() == [0]


def test_without_a_gpu_there_are_none_and_what_is_not_told_is_not_a_number() -> None:
    assert drawn().empty
    (row,) = drawn((event("MemcpyH2D", 0, 5, correlation_id=U(1)),)).to_dict("records")
    assert (row["bytes"], row["source"], row["op"], row["read_by"], row["tensor"]) == (0, "", "", "", "")
    assert pd.isna(row["gb_per_s"])
    assert pd.isna(row["bytes_per_copy"])


def call(name: str, at_us: float, duration_us: float, mode: str, tracing_count: int = 0) -> Event:
    return event(name, at_us, duration_us, tf_function_call=mode, tracing_count=tracing_count)


def calls(*events: Event) -> list[dict[str, object]]:
    frame = compute_tf_functions(trace(plane("/host:CPU", line("main", *events))))
    return frame.to_dict("records")


def test_calls_are_counted_by_how_they_ran() -> None:
    (row,) = calls(
        call("step", 0, 40, "traced-nonXla", 1),
        call("step", 50, 10, "notTraced-nonXla", 1),
        call("step", 70, 10, "notTraced-nonXla", 1),
        call("step", 90, 20, "eager", 1),
    )
    assert row["function"] == "step"
    assert (row["traced_calls"], row["not_traced_calls"], row["eager_calls"], row["concrete_calls"]) == (1, 2, 1, 0)
    assert row["compiler"] == "other"
    assert row["self_time_ms"] == pytest.approx(0.08)
    assert row["expensive_ratio"] == 60 / 80
