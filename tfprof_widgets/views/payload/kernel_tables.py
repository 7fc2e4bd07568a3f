"""Kernel statistics -> their parts of a pack; `js/src/views/kernel_table/rows.ts` reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...analysis.ops.kernel_details import is_eligible_type
from ...analysis.ops.kernels import KERNEL_COLUMNS, Kernels
from ...analysis.ops.op_families import FAMILIES, families
from ...trace.trace import Int64, Trace
from .meta import records
from .tables import as_f8, host_rows
from .wire import Rows, Table

_OF_A_RANGE = ("rank", "occurrences", "total_time_us", "avg_time_us", "min_time_us", "max_time_us")
"""What the browser adds up itself, from `kernel_runs`."""


def kernel_list(kernels: Kernels, rows: slice) -> list[dict[str, Any]]:
    """One object per kernel: what it is and how it was launched; `family` colours it.

    `could_use_tensor_core` says whether Tensor Cores could serve its op, by name or by type. Where no execution is known,
    as in a reduced profile, it has the totals of the whole capture as well.
    """
    left_out = _OF_A_RANGE if len(kernels.run_event) else ("rank", "avg_time_us")
    frame = kernels.frame[[column for column in KERNEL_COLUMNS if column not in left_out]].iloc[rows]
    # The op says more about a kernel than its name where the name is of no known family.
    runtime = FAMILIES.index("runtime")
    of_name = _families(frame["name"])
    of_op = _families(frame["op_name"] + ":" + frame["op_type"])
    family = np.where(of_name == runtime, of_op, of_name)
    could_use = frame["tensor_core_eligible"] | frame["op_type"].map(is_eligible_type).astype(bool)
    return records(frame.assign(family=family, could_use_tensor_core=could_use))


def _families(names: pd.Series) -> Int64:
    """The slice family of each name, worked out once for a distinct one."""
    codes, distinct = pd.factorize(names)
    return np.asarray(families(distinct.tolist()), np.int64)[codes]


def kernel_run_table(trace: Trace, kernels: Kernels, rows: Rows) -> Table:
    """Every execution of every kernel, so that the browser can add up any time range; of several hosts on which one."""
    events = kernels.run_event[rows]
    columns: dict[str, tuple[npt.ArrayLike, str]] = {
        "kernel": (kernels.run_kernel[rows], "i4"),
        "start_ps": (as_f8(trace.start_ps[events]), "f8"),
        "duration_ps": (as_f8(trace.duration_ps[events]), "f8"),
    }
    hosts = host_rows(trace)
    if len(hosts) > 1:
        of_line = np.array([hosts[trace.planes[line.plane].host] for line in trace.lines], np.int64)
        columns["host"] = (of_line[trace.line_id[events]], "i4")
    return Table(columns)
