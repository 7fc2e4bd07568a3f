"""Ops of XLA programs -> their parts of a pack; `js/src/hlo/rows.ts` reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..analysis.ops.op_families import hlo_families
from ..analysis.xla.hlo_ops import HloOps
from .meta import records
from .wire import Table

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


def hlo_meta(hlo_ops: HloOps) -> dict[str, Any]:
    """`hlo_ops`, one object per HLO op of a program: what it is, what one execution computes and moves, its colour."""
    frame = hlo_ops.frame
    # An id is 64 bits, more than a number of JavaScript holds.
    ids = [str(value) for value in frame["program_id"].tolist()]
    family = hlo_families(frame["category"].tolist(), frame["op_type"].tolist()).astype(np.int64)
    return {"hlo_ops": records(frame[list(_COLUMNS)].assign(program_id=ids, family=family))}


def hlo_unit_table(hlo_ops: HloOps) -> Table:
    """For each unit of `occurrences` its row of `hlo_ops`, -1 for an ordinary op."""
    return Table({"hlo": (hlo_ops.unit_row, "i4")})
