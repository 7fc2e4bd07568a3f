"""A profile's tf.data statistics -> the input-pipeline graph widget."""

from __future__ import annotations

from .base import View


class InputGraph(View):
    """One node per iterator; the critical path is bold, the bottleneck outlined and its remedy beside it."""

    entry = "input_graph"
