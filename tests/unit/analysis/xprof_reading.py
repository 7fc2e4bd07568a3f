"""What XProf takes kernels for, and which ops: D9, D13 and the shares of fusions (semantics 4.3) undone.

Source: xprof/utils/kernel_stats_utils.cc, op_metrics_db_utils; semantics 3.2, 6.2.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from tfprof_widgets.analysis import Analysis, ComputeUnit, framework_op, on_stream
from tfprof_widgets.trace import Trace, UInt8

TENSOR_CORE_KERNELS = (
    *("16816", "c1688", "conv1x1", "conv2d_c1_k1", "dgrad_1x1_stride_2x2", "direct_group", "first_layer_wgrad_kernel"),
    *("h1688", "h884", "hmma", "i16832", "i8816", "s884", "s1688", "xmma_gemm", "xmma_implicit_gemm"),
    *("xmma_sparse_conv", "xmma_sparse_gemm", "xmma_warp_specialized_implicit_gemm"),
)
_UNIT = {
    (False, False): ComputeUnit.VECTOR_32,
    (False, True): ComputeUnit.VECTOR_16,
    (True, False): ComputeUnit.TENSOR_TF32,
    (True, True): ComputeUnit.TENSOR_16,
}


def xprof_units(trace: Trace) -> UInt8:
    """For each event of a device the unit that XProf's words mean: fills of memory compute, too."""
    units = np.full(trace.n_events, ComputeUnit.UNKNOWN, np.uint8)
    shape = trace.string_stat("shape")
    for event in np.flatnonzero(on_stream(trace)).tolist():
        name, text = trace.strings[trace.name_id[event]], trace.strings[shape[event]] if shape[event] >= 0 else ""
        is_nvidia = trace.planes[trace.plane_id[event]].stats.get("device_vendor", "Nvidia") == "Nvidia"
        uses = is_nvidia and any(word in name for word in TENSOR_CORE_KERNELS)
        units[event] = _UNIT[uses, any(word in (text or name) for word in ("half", "fp16"))]
    return units


def as_xprof(trace: Trace) -> Analysis:
    """Our reading of a trace with XProf's units."""
    results = Analysis(trace)
    results.__dict__["kernel_units"] = xprof_units(trace)
    return results


def ops_of_roots(results: Analysis) -> tuple[str, ...]:
    """The framework op of each unit, of an HLO op the one that its own instruction names: of a fusion that of its root."""
    ops = results.occurrences
    named = [ops.hlo.modules.op_name[row] if row >= 0 else "" for row in ops.hlo.instruction.tolist()]
    return (*ops.name[: ops.n_ops], *(framework_op(name, "")[0] if name else "" for name in named))


def charged_to_roots(results: Analysis) -> Analysis:
    """The results with each kernel under the one op that `ops_of_roots` names."""
    names = ops_of_roots(results)
    results.__dict__["op_shares"] = replace(
        results.op_shares, name=names, type=names, dominant=np.arange(len(names), dtype=np.int32)
    )
    return results


def device_executions(results: Analysis) -> int:
    """Executions of the ops of devices: of the HLO ops of one root the most frequent one counts, in XProf as here."""
    names, most = ops_of_roots(results), Counter[str]()
    totals = results.host_sums.on_all_hosts()
    for unit, count in zip(totals.unit.tolist(), totals.count.tolist(), strict=True):
        if results.units.is_device[unit]:
            name = names[unit] or results.units.name[unit]
            most[name] = max(most[name], count)
    return most.total()
