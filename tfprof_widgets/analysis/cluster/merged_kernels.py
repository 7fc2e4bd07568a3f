"""Kernels of each host -> columns that travel, and the kernels of all.

summarize_kernels(kernels) -> KernelSummary
merge_kernels(summaries) -> KernelTable
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64, Int64
from ..base.matching import dense_codes, sum_by
from ..ops.kernel_details import Launch
from ..ops.kernels import KernelKinds, Kernels, KernelTable, KernelTimes, kernel_table
from .columns import interned, joined, numbered

MAX_KERNELS = 2_000
"""Of one host those with the most time; the others are one row, `OTHERS`."""
OTHERS = "other kernels"


@dataclass(frozen=True, eq=False, repr=False)
class KernelSummary:
    """The `kernels` table of one host, in its order; one entry per kernel."""

    n_all: int
    name: tuple[str, ...]
    op_name: tuple[str, ...]
    op_type: tuple[str, ...]
    launch: Int64
    """Shape (kernels, 9): grid, block, registers, static and dynamic shared bytes."""
    occupancy_pct: Float64
    is_eligible: Bool
    uses: Bool
    count: Int64
    total_ns: Int64
    min_ns: Int64
    max_ns: Int64


def summarize_kernels(kernels: Kernels) -> KernelSummary:
    """Keep the kernels that take most time."""
    frame, more = kernels.frame.iloc[:MAX_KERNELS], kernels.frame.iloc[MAX_KERNELS:]
    n_more = int(len(more) > 0)

    def texts(name: str, other: str) -> tuple[str, ...]:
        return interned([*frame[name].tolist(), *[other] * n_more])

    def ns(name: str, of_more: str) -> Int64:
        others = [getattr(_whole_ns(more[name]), of_more)()] if n_more else []
        return np.append(_whole_ns(frame[name]), np.array(others, np.int64))

    launch = np.array([_numbers(one) for one in kernels.launch[: len(frame)]], np.int64).reshape(-1, 9)
    return KernelSummary(
        n_all=len(kernels.frame),
        name=texts("name", OTHERS),
        op_name=texts("op_name", ""),
        op_type=texts("op_type", ""),
        launch=np.concatenate([launch, np.ones((n_more, 9), np.int64) * _NOTHING]),
        occupancy_pct=np.append(frame["occupancy_pct"].to_numpy(np.float64), np.zeros(n_more)),
        is_eligible=np.append(frame["tensor_core_eligible"].to_numpy(np.bool_), np.zeros(n_more, np.bool_)),
        uses=np.append(frame["uses_tensor_core"].to_numpy(np.bool_), np.zeros(n_more, np.bool_)),
        count=np.append(
            frame["occurrences"].to_numpy(np.int64), np.array([more["occurrences"].sum()] * n_more, np.int64)
        ),
        total_ns=ns("total_time_us", "sum"),
        min_ns=ns("min_time_us", "min"),
        max_ns=ns("max_time_us", "max"),
    )


_NOTHING = np.array([1, 1, 1, 1, 1, 1, 0, 0, 0])
"""The launch of a kernel of which nothing is known."""


def _whole_ns(column: pd.Series[float]) -> Int64:
    """Microseconds of whole nanoseconds as these."""
    return np.rint(column.to_numpy(np.float64) * 1000).astype(np.int64)


def _numbers(launch: Launch) -> tuple[int, ...]:
    return (*launch.grid, *launch.block, launch.registers, launch.static_shared_bytes, launch.dynamic_shared_bytes)


def _launch(numbers: Sequence[int], occupancy_pct: float) -> Launch:
    grid, block = (numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5])
    return Launch(grid, block, numbers[6], numbers[7], numbers[8], occupancy_pct)


def merge_kernels(summaries: Sequence[KernelSummary]) -> KernelTable:
    """The kernels of all hosts, as `compute_kernels` would add them up."""
    name, op, kind = (
        numbered(text for one in summaries for text in getattr(one, column))
        for column in ("name", "op_name", "op_type")
    )
    launch = np.concatenate([one.launch for one in summaries])
    uses = joined([one.uses for one in summaries], np.bool_)
    is_eligible = joined([one.is_eligible for one in summaries], np.bool_)
    code, n = dense_codes(name[0], op[0], *launch.T, uses.astype(np.int8), is_eligible.astype(np.int8))
    _, first = np.unique(code, return_index=True)
    shortest, longest = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
    np.minimum.at(shortest, code, joined([one.min_ns for one in summaries], np.int64))
    np.maximum.at(longest, code, joined([one.max_ns for one in summaries], np.int64))
    occupancy = joined([one.occupancy_pct for one in summaries], np.float64)
    frame, _ = kernel_table(
        KernelKinds(
            name=tuple(name[1][i] for i in name[0][first].tolist()),
            op_name=tuple(op[1][i] for i in op[0][first].tolist()),
            op_type=tuple(kind[1][i] for i in kind[0][first].tolist()),
            launch=tuple(
                _launch(row, pct) for row, pct in zip(launch[first].tolist(), occupancy[first].tolist(), strict=True)
            ),
            is_eligible=is_eligible[first],
            uses=uses[first],
            times=KernelTimes(
                count=sum_by(code, joined([one.count for one in summaries], np.int64), n),
                total_ns=sum_by(code, joined([one.total_ns for one in summaries], np.int64), n),
                min_ns=shortest,
                max_ns=longest,
            ),
        )
    )
    return KernelTable(frame)
