"""Kernels, HLO ops and rates of ops -> their parts of a pack, left out where there are none."""

from __future__ import annotations

from typing import Any

from ..analysis.results import Results
from .hlo_tables import hlo_meta, hlo_unit_table
from .kernel_tables import kernel_meta, kernel_run_table
from .op_rates import op_rate_table
from .wire import Table


def work_meta(results: Results) -> dict[str, Any]:
    """`kernels` and `hlo_ops` of the meta object."""
    return {**kernel_meta(results.kernels), **hlo_meta(results.hlo_ops)}


def work_tables(results: Results) -> dict[str, Table]:
    """`kernel_runs`, `hlo_units` and `op_rates`, each where it holds anything."""
    tables = {}
    if not results.kernels.frame.empty:
        tables["kernel_runs"] = kernel_run_table(results.trace, results.kernels)
    if not results.hlo_ops.frame.empty:
        tables["hlo_units"] = hlo_unit_table(results.hlo_ops)
    rates = op_rate_table(results)
    return tables if rates is None else {**tables, "op_rates": rates}
