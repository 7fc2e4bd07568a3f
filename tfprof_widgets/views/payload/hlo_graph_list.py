"""HLO ops that ran -> the graphs of those that cost most; `js/src/data/meta.ts` gives their types."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ...analysis.ops.hlo_ops import instructions_of
from ...analysis.results import AnyResults
from ...analysis.xla.hlo_graph import HloGraph, HloGraphs
from .structure_meta import coded

_MOST_GRAPHS = 100
_MOST_CHARACTERS = 200_000
"""Of JSON, of all graphs together."""


def hlo_graph_list(results: AnyResults) -> list[dict[str, Any]]:
    """One object per HLO op that ran and whose program is known, devices before hosts, most self time first.

    Empty of a reduced profile, which holds no programs.
    """
    units, hlo_ops, shares = results.units.hlo, results.hlo_ops, results.op_shares
    instruction = instructions_of(hlo_ops, units)
    self_us = hlo_ops.frame["total_self_time_us"].to_numpy(np.float64)
    time_of = dict(zip(instruction.tolist(), self_us.tolist(), strict=True))
    n_ordinary = len(hlo_ops.unit_row) - len(units)
    unit_of = n_ordinary + np.argsort(hlo_ops.unit_row[n_ordinary:])
    graphs = HloGraphs(units.modules)
    found: list[dict[str, Any]] = []
    left = _MOST_CHARACTERS
    for row in np.flatnonzero(instruction >= 0)[:_MOST_GRAPHS].tolist():
        low, high = np.searchsorted(shares.unit, (unit_of[row], unit_of[row] + 1)).tolist()
        told = hlo_ops.frame.iloc[row]
        packed = {
            "name": told["name"],
            "module": told["module"],
            "category": told["category"],
            "self_us": round(self_us[row], 3),
            "ops": [shares.name[op] for op in shares.op[low:high].tolist()],
            "ratios": np.round(shares.ratio[low:high], 4).tolist(),
            **_packed(graphs.of(int(instruction[row])), time_of),
        }
        left -= len(json.dumps(packed, separators=(",", ":")))
        if left < 0:
            break
        found.append(packed)
    return found


def _packed(graph: HloGraph, time_of: dict[int, float]) -> dict[str, Any]:
    is_inside = graph.centre < 0
    times = [time_of.get(row, 0.0) for row in graph.row]
    return {
        "names": list(graph.name),
        "opcodes": coded(graph.opcode),
        "shapes": coded(graph.shape),
        "node_ops": coded(graph.op_name),
        # Of a fusion the share of its work, else self time in microseconds.
        "values": [round(value, 4) for value in (np.nan_to_num(graph.work_ratio).tolist() if is_inside else times)],
        "from": [node for nodes in graph.reads for node in nodes],
        "to": [reader for reader, nodes in enumerate(graph.reads) for _ in nodes],
        "n_nodes": graph.n_nodes,
        "centre": graph.centre,
    }
