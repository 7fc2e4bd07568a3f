"""Framework ops -> their float operations as the traced graph tells them, where no program was compiled."""

from __future__ import annotations

import numpy as np

from ...trace.source_map import SourceMap
from ...trace.trace import Float64
from ..layers.op_sources import OpMatch


def graph_flops(match: OpMatch, source_map: SourceMap | None) -> Float64 | None:
    """For each framework op the float operations of one execution, 0 where not known; None where none is."""
    if source_map is None or not (source_map.details["float_ops"] > 0).any():
        return None
    flops = np.zeros(len(source_map.ops) + 1)
    flops[source_map.details["op"]] = source_map.details["float_ops"]
    return flops[match.own_row]
