"""What is known of ops -> tables of a pack, any rows of each; the views read them by these names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...analysis.ops.op_families import hlo_families, op_families
from ...analysis.ops.ops import rates_of
from ...analysis.results import AnyResults, Results
from ...analysis.xla.hlo_category import leading_categories
from ...trace.trace import Int64
from .names import Names
from .wire import Rows, Table, columns_of


def op_table(results: AnyResults, names: Names, rows: Rows) -> Table:
    """The framework ops: name, type, the family of their colour, where they ran, and whether they only wait."""
    shares = results.op_shares
    texts = {"name": shares.name, "type": shares.type}
    numbers = {key: (names.numbers(names.ids_of(column)[rows]), "i4") for key, column in texts.items()}
    family = op_families(
        np.array(shares.name, np.object_)[rows].tolist(), np.array(shares.type, np.object_)[rows].tolist()
    )
    flags = columns_of(shares, rows, u1="is_device is_eager only_waits")
    return Table({**numbers, "family": (family, "u1"), **flags})


def op_place_table(results: AnyResults, rows: Rows) -> Table:
    """For each framework op its layer, source line and innermost scope, as rows of the meta object's lists, and its phases.

    `phase` is an index into `PHASES` of the layers, `line_phase` into `LINE_PHASES` of the lines.
    """
    return Table(
        {
            **columns_of(results.layers, rows, i4="layer:op_entry", u1="phase:op_phase"),
            **columns_of(results.source_lines, rows, i4="line:op_entry", u1="line_phase:op_phase"),
            **columns_of(results.scopes, rows, i4="scope:op_entry"),
        }
    )


def op_rates(results: AnyResults) -> dict[str, npt.NDArray[np.float64]] | None:
    """For each framework op its rates over the whole capture, NaN where nothing is known; None where that is so for all."""
    rates = rates_of(results.op_sums)
    return None if all(np.isnan(one).all() for one in rates.values()) else rates


def occurrence_table(results: Results, rows: Rows, lines: npt.NDArray[np.int32]) -> Table:
    """Every execution of every unit, so that the browser can add up any time range; `line` is where its idle time counts.

    `op` is the unit; the table `op_shares` says which framework ops that is. `execution` is there only where some
    execution has several rows, its kernels: it numbers the executions; -1 on hosts, where each row is one.

    Args:
        results: of the trace.
        rows: which executions.
        lines: for each line of the trace its number in the browser.
    """
    occurrences = results.occurrences
    columns = columns_of(occurrences, rows, i4="op parent", f8="start_ps duration_ps span_ps")
    columns["line"] = (lines[occurrences.lane_line[occurrences.lane[rows]]], "i4")
    if not occurrences.is_first.all():
        on_device = occurrences.is_device[occurrences.op[rows]]
        columns["execution"] = (np.where(on_device, occurrences.execution[rows], -1), "i4")
    return Table(columns)


def op_line_table(results: Results, rows: Rows, lines: npt.NDArray[np.int32]) -> Table:
    """What can be idle, a host thread or a whole device under its first line, and from where to where it was observed."""
    occurrences = results.occurrences
    observed = columns_of(
        occurrences, rows, u1="device:lane_is_device", f8="first_ps:lane_first_ps last_ps:lane_last_ps"
    )
    return Table({"line": (lines[occurrences.lane_line[rows]], "i4"), **observed})


def hlo_name_families(results: Results) -> dict[int, int]:
    """The slice family of each event name that stands for an HLO op: that of the op, its name says little."""
    occurrences = results.occurrences
    rows = np.flatnonzero(occurrences.op >= occurrences.n_ops)
    if not len(rows):
        return {}
    names, first = np.unique(results.trace.name_id[occurrences.event[rows]], return_index=True)
    found = hlo_unit_families(results, occurrences.op[rows[first]].astype(np.int64))
    return dict(zip(names.tolist(), found.tolist(), strict=True))


def hlo_unit_families(results: AnyResults, units: Int64) -> npt.NDArray[np.uint8]:
    """The slice family of HLO ops, given as units."""
    table, shares = results.units, results.op_shares
    instructions = table.hlo.instruction[units - (len(table.name) - len(table.hlo))]
    told = [table.type[unit] for unit in units.tolist()]
    types = [shares.type[op] for op in shares.dominant[units].tolist()]
    return hlo_families(leading_categories(table.hlo.modules, instructions, told), types)
