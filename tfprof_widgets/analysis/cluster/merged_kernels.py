"""Kernels of each host -> a table that travels, and the kernels of all.

summarize_kernels(kernels) -> PackedFrame
merge_kernels(every) -> KernelTable
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ...formats.hlo.texts import Texts
from ...trace.trace import Int64
from ..base.compute_units import UNIT_TEXTS
from ..ops.kernel_details import Launch
from ..ops.kernels import KernelKinds, Kernels, KernelTable, KernelTimes, kernel_table
from .columns import PackedFrame, united, with_rest

MAX_KERNELS = 2_000
"""Of one host those with the most time; the others are one row, `OTHERS`."""
OTHERS = "other kernels"
_LAUNCH = {"grid": 3, "block": 3, "registers": 1, "static_shared_bytes": 1, "dynamic_shared_bytes": 1}
"""Fields of a `Launch` that tell kernels apart, and of how many numbers each is."""
_LAUNCH_COLUMNS = [f"{name}_{axis}" for name, n in _LAUNCH.items() for axis in range(n)]
_KEY = ["name", "op_name", *_LAUNCH_COLUMNS, "unit", "tensor_core_eligible"]
_TIMES = {"count": "sum", "total_ns": "sum", "min_ns": "min", "max_ns": "max"}
"""What kernels have of `KernelTimes`, and how those of several are one."""

_UNITS = {text: unit for unit, text in UNIT_TEXTS.items()}


def summarize_kernels(kernels: Kernels) -> PackedFrame:
    """Keep the kernels that take most time."""
    frame = kernels.frame
    launches = [[*one.grid, *one.block, *one[2:5]] for one in kernels.launch]
    told = frame[["name", "op_name", "op_type", "unit", "tensor_core_eligible", "occupancy_pct"]]
    table = told.assign(
        **pd.DataFrame(launches, columns=_LAUNCH_COLUMNS, dtype=np.int64),
        count=frame["occurrences"],
        total_ns=_whole_ns(frame["total_time_us"]),
        min_ns=_whole_ns(frame["min_time_us"]),
        max_ns=_whole_ns(frame["max_time_us"]),
    )
    return PackedFrame.of(with_rest(table, MAX_KERNELS, _others))


def _others(more: pd.DataFrame) -> Mapping[str, object]:
    nothing = [1] * 6 + [0] * 3
    return {
        **dict.fromkeys(more.columns, 0),
        "name": OTHERS,
        "op_name": "",
        "op_type": "",
        "unit": "",
        **dict(zip(_LAUNCH_COLUMNS, nothing, strict=True)),
        **{name: getattr(more[name], how)() for name, how in _TIMES.items()},
    }


def _whole_ns(column: pd.Series[float]) -> Int64:
    """Microseconds of whole nanoseconds as these."""
    return np.rint(column.to_numpy(np.float64) * 1000).astype(np.int64)


def merge_kernels(every: pd.DataFrame) -> KernelTable:
    """The kernels of all hosts, as `compute_kernels` would add them up."""
    found, _ = united(every, _KEY, {"op_type": "first", "occupancy_pct": "first", **_TIMES})
    launches = [
        Launch((one[0], one[1], one[2]), (one[3], one[4], one[5]), one[6], one[7], one[8], pct)
        for *one, pct in found[[*_LAUNCH_COLUMNS, "occupancy_pct"]].itertuples(index=False)
    ]
    frame, _ = kernel_table(
        KernelKinds(
            name=Texts.of(found["name"].tolist()),
            op_name=Texts.of(found["op_name"].tolist()),
            op_type=Texts.of(found["op_type"].tolist()),
            launches=launches,
            launch=np.arange(len(found)),
            is_eligible=found["tensor_core_eligible"].to_numpy(np.bool_),
            unit=np.array([_UNITS[text] for text in found["unit"]], np.uint8),
            times=KernelTimes(**{name: found[name].to_numpy() for name in _TIMES}),
        )
    )
    return KernelTable(frame)
