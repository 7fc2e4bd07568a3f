"""Executions of HLO ops -> `HloOps`: one row per op of a compiled program, what it cost and what it stands for.

Source: semantics 4.2, 12.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...errors import TfProfError
from ...trace.trace import Bool, Int32, Int64
from ..base.framework_names import framework_op
from ..base.matching import dense_codes, first_of, sum_by
from ..base.table_types import Types, text_column, typed_table
from ..base.units import PS_PER_US
from ..columns.registry import TABLES
from ..xla.hlo_graph import HloGraph, HloGraphs
from ..xla.hlo_text import expressions
from ..xla.hlo_units import HloUnits
from .op_occurrences import Occurrences
from .op_shares import OpShares
from .ops import counts_of, n_done_of, overlaps, ranked

HLO_OPS_COLUMNS = TABLES["hlo_ops"].names
_TYPES: Types = TABLES["hlo_ops"].types


@dataclass(frozen=True, eq=False, repr=False)
class HloOps:
    """The `hlo_ops` table, and where each unit is in it."""

    frame: pd.DataFrame
    """The columns `HLO_OPS_COLUMNS`; empty where no compiled program ran."""
    unit_row: Int32
    """For each unit of `occurrences` its row of `frame`, -1 for ordinary ops."""


def compute_hlo_ops(
    occurrences: Occurrences, shares: OpShares, *, time_range_ps: tuple[int, int] | None = None
) -> HloOps:
    """Totals per HLO op, those that cost most of their own time first, devices before hosts.

    `flops` and `bytes_accessed` are of one execution, as the trace says, else our estimates (`hlo_cost.py`); NaN where the
    trace neither says nor holds the program. The rates are over total time. `op_name` and `op_type` are those of the
    instruction's own metadata (of a fusion: of its root), empty without; who is charged for the time is told by
    `op_shares.py`. Ratios are of the self time of all HLO ops of a side. `program_id` is -1 where the trace does not say.

    Args:
        occurrences: the result of `op_occurrences(trace)`.
        shares: the result of `compute_op_shares(occurrences)`.
        time_range_ps: count only the time between these two, as `aggregate_ops` does; `None` is the whole trace. An HLO op
            that did not run in the range keeps its row, with zeros.

    Differs from XProf: its `hlo_stats` shows devices only; it also lists ops that no program compiled (those are in `ops`),
    drops ops whose instruction the file does not hold, and takes shares of the device's time including idle time.
    """
    units, n_ops = occurrences.hlo, occurrences.n_ops
    n_units = len(occurrences.name)
    if not len(units):
        return HloOps(typed_table([], _TYPES), np.full(n_units, -1, np.int32))
    total_ps, own_ps, counted = overlaps(occurrences, time_range_ps)
    frame = _told(units).assign(
        occurrences=counts_of(occurrences, counted)[n_ops:],
        n_done=n_done_of(occurrences, total_ps, counted)[n_ops:],
        total_ps=sum_by(occurrences.op, total_ps, n_units)[n_ops:],
        self_ps=sum_by(occurrences.op, own_ps, n_units)[n_ops:],
        flops=shares.flops[n_ops:],
        bytes_accessed=shares.bytes_accessed[n_ops:],
    )
    return hlo_table(frame, n_ops)


def hlo_table(frame: pd.DataFrame, n_ops: int) -> HloOps:
    """The `hlo_ops` table of HLO ops in any order.

    Args:
        frame: what is told of each, `occurrences`, of these the part within the range `n_done`, `total_ps`, `self_ps`, and
            `flops` and `bytes_accessed` of one execution; row `i` is unit `n_ops + i`.
        n_ops: how many units are ordinary ops.
    """
    total, own = (frame[name].to_numpy(np.int64) for name in ("total_ps", "self_ps"))
    n_done, executed = frame["n_done"].to_numpy(), np.maximum(frame["occurrences"].to_numpy(np.int64), 1)
    seconds = np.where(total > 0, total / 1e12, np.nan)
    frame = frame.assign(
        total_time_us=total / PS_PER_US,
        avg_time_us=total / PS_PER_US / executed,
        total_self_time_us=own / PS_PER_US,
        avg_self_time_us=own / PS_PER_US / executed,
        flop_rate_gflops=frame["flops"].to_numpy(np.float64) * n_done / seconds / 1e9,
        memory_bandwidth_gibps=frame["bytes_accessed"].to_numpy(np.float64) * n_done / seconds / 2**30,
    )
    order = np.lexsort((pd.factorize(frame["name"], sort=True)[0], -own, frame["device"] != "Device"))
    unit_row = np.full(n_ops + len(frame), -1, np.int32)
    unit_row[n_ops + order] = np.arange(len(order))
    return HloOps(frame=ranked(frame.iloc[order].reset_index(drop=True))[list(HLO_OPS_COLUMNS)], unit_row=unit_row)


def instructions_of(hlo_ops: HloOps, units: HloUnits) -> Int64:
    """For each row of the `hlo_ops` table its instruction, a row of the modules; -1 where the trace does not hold it."""
    found = np.full(len(units), -1, np.int64)
    found[hlo_ops.unit_row[len(hlo_ops.unit_row) - len(units) :]] = units.instruction
    return found


def hlo_op_graph(hlo_ops: HloOps, units: HloUnits, name: str) -> HloGraph:
    """The whole graph of the HLO op of a name that comes first in the table.

    Raises:
        TfProfError: no HLO op of that name ran, or the trace does not hold its program.
    """
    rows = np.flatnonzero(hlo_ops.frame["name"] == name)
    if not len(rows):
        raise TfProfError(f"no HLO op named {name!r} ran: see hlo_ops for those that did")
    known = [row for row in instructions_of(hlo_ops, units)[rows].tolist() if row >= 0]
    if not known:
        raise TfProfError(f"what {name!r} is made of is not known, as the trace does not hold its program")
    return HloGraphs(units.modules).of(known[0], most=units.modules.n_instructions)


def _told(units: HloUnits) -> pd.DataFrame:
    """What is told of each HLO op."""
    op_name, op_type = _framework_ops(units)
    return pd.DataFrame(
        {
            "program_id": units.program_id,
            "module": text_column(units.module),
            "category": text_column(units.category),
            "name": text_column(units.name),
            "expression": text_column(_expressions(units)),
            "op_name": text_column(op_name),
            "op_type": text_column(op_type),
            "device": text_column(np.where(units.is_device, "Device", "Host").tolist()),
            "source": text_column(_sources(units)),
        }
    )


def _framework_ops(units: HloUnits) -> tuple[list[str], list[str]]:
    """Name and type of the framework op in each instruction's metadata, else of the one that its event names."""
    modules = units.modules
    known = np.flatnonzero(units.instruction >= 0)
    known = known[~modules.op_name.is_in(("",))[units.instruction[known]]]
    instruction = units.instruction[known]
    code, n = dense_codes(modules.op_name.code[instruction], modules.op_type.code[instruction])
    distinct = instruction[first_of(code, n)].tolist()
    found = [framework_op(modules.op_name[row], modules.op_type[row]) for row in distinct] + [("", "")]
    of_unit = np.full(len(units), n, np.int64)
    of_unit[known] = code
    for unit in np.flatnonzero((of_unit == n) & _is_told(units.provenance)).tolist():  # of TPUs
        of_unit[unit] = len(found)
        found.append(framework_op(*units.provenance[unit].rpartition(":")[::2]))
    at = of_unit.tolist()
    return [found[i][0] for i in at], [found[i][1] for i in at]


def _expressions(units: HloUnits) -> list[str]:
    """The text of each op as its event has it, else of its instruction, else its name."""
    texts = expressions(units.modules, np.where(_is_told(units.expression), -1, units.instruction))
    return [told or text or name for told, text, name in zip(units.expression, texts, units.name, strict=True)]


def _is_told(texts: tuple[str, ...]) -> Bool:
    return np.array([text != "" for text in texts], np.bool_)


def _sources(units: HloUnits) -> list[str]:
    """`file:line` of each op as its event has it, else its instruction."""
    texts, modules = list(units.source), units.modules
    asked = np.flatnonzero((units.instruction >= 0) & ~_is_told(units.source))
    asked = asked[~modules.source_file.is_in(("",))[units.instruction[asked]]]
    rows = units.instruction[asked]
    code, n = dense_codes(modules.source_file.code[rows], modules.source_line[rows])
    lines = [f"{modules.source_file[row]}:{modules.source_line[row]}" for row in rows[first_of(code, n)].tolist()]
    for unit, line in zip(asked.tolist(), code.tolist(), strict=True):
        texts[unit] = lines[line]
    return texts
