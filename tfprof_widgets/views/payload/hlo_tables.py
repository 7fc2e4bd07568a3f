"""Ops of XLA programs -> their parts of a pack; `js/src/views/hlo_table/rows.ts` reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...analysis.ops.hlo_ops import HloOps
from ...analysis.ops.op_families import hlo_families
from .meta import records
from .wire import Rows, Table

_COLUMNS = (
    "module",
    "category",
    "name",
    "expression",
    "op_name",
    "op_type",
    "device",
    "flops",
    "bytes_accessed",
    "source",
)


def hlo_list(hlo_ops: HloOps, rows: slice) -> list[dict[str, Any]]:
    """One object per HLO op of a program: what it is, what one execution computes and moves, its colour."""
    frame = hlo_ops.frame.iloc[rows]
    # An id is 64 bits, more than a number of JavaScript holds.
    ids = [str(value) for value in frame["program_id"].tolist()]
    family = hlo_families(frame["category"].tolist(), frame["op_type"].tolist()).astype(np.int64)
    return records(frame[list(_COLUMNS)].assign(program_id=ids, family=family))


def hlo_unit_table(hlo_ops: HloOps, rows: Rows) -> Table:
    """For each unit of `occurrences` its row of `hlo_ops`, -1 for an ordinary op."""
    return Table({"hlo": (hlo_ops.unit_row[rows], "i4")})
