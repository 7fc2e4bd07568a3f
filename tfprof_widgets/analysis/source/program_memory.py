"""Compiled programs -> what holds their memory when they hold most: buffers by op, layer and line.

XLA allocates the memory of a whole program at once, which a list of allocations shows as one buffer of an unknown op. What it
planned to keep there is in the program itself, where the trace holds it.

Source: semantics 12.4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...formats.hlo.buffers import live_buffers
from ...formats.hlo.texts import Texts
from ...trace.trace import Int32, Int64, Trace
from ..base.framework_names import framework_op
from ..base.table_types import text_column, typed_table
from ..columns.registry import TABLES
from ..layers.layers import Layers
from ..ops.op_shares import OpShares
from ..xla.hlo_text import expressions
from ..xla.hlo_units import HloUnits
from .source_lines import SourceLines

_TABLE = TABLES["program_memory"]


def compute_program_memory(
    trace: Trace, units: HloUnits, shares: OpShares, *, layers: Layers, lines: SourceLines
) -> pd.DataFrame:
    """The table `program_memory` of the programs that ran; empty where none did, or none carries its buffers.

    Args:
        trace: the trace.
        units: the HLO ops that ran.
        shares: the framework ops.
        layers: theirs.
        lines: theirs.
    """
    modules = units.modules
    found = pd.DataFrame(live_buffers(trace, set(modules.program_id.tolist())))
    if found.empty:
        return typed_table([], _TABLE.types)
    module_of = dict(zip(modules.program_id.tolist(), modules.module_name, strict=True))
    program = found["program_id"].to_numpy(np.int64)
    module = Texts.of([module_of[one] for one in program.tolist()])
    rows = modules.find_all(program, module, Texts.of(found["instruction"].tolist()))
    ops = [framework_op(modules.op_name[row], modules.op_type[row]) if row >= 0 else ("", "") for row in rows.tolist()]
    of_devices_last = np.argsort(shares.is_device, kind="stable").tolist()
    number = {shares.name[op]: op for op in of_devices_last}
    op = np.array([number.get(name, -1) if name else -1 for name, _ in ops], np.int64)
    whole = found["n_bytes"].astype(np.float64).groupby(found["program_id"]).transform("sum")
    table = pd.DataFrame(
        {
            "program_id": found["program_id"],
            "module": text_column(module),
            "kind": text_column(found["kind"]),
            "bytes": found["n_bytes"],
            "peak_ratio": found["n_bytes"] / whole.where(whole > 0, 1),
            "name": text_column(found["instruction"]),
            "expression": text_column(expressions(modules, rows)),
            "op_name": text_column(name for name, _ in ops),
            "op_type": text_column(kind for _, kind in ops),
            "layer": text_column(_looked_up(layers.entries["layer"], layers.op_entry, op, "")),
            "file": text_column(_looked_up(lines.entries["file"], lines.op_entry, op, "")),
            "line": _looked_up(lines.entries["line"], lines.op_entry, op, 0).astype(np.int64),
        }
    )
    return table.sort_values(["program_id", "bytes"], ascending=[True, False], kind="stable", ignore_index=True)


def _looked_up(values: pd.Series, entry: Int32, op: Int64, unknown: object) -> npt.NDArray[np.object_]:
    """A column of entries for each op, `unknown` for those that are none."""
    known = np.append(values.to_numpy(object), [unknown])
    return known[np.where(op >= 0, np.append(entry, -1)[op], -1)]
