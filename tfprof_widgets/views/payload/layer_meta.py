"""Keras layers -> their part of the meta object of a pack; `js/src/views/layer_table/rows.ts` reads it."""

from __future__ import annotations

from typing import Any

from ...analysis.layers.layers import Layers
from .meta import records


def layer_list(layers: Layers, rows: slice) -> list[dict[str, Any]]:
    """One object per layer, and per loss, optimizer, input and whatever else ops belong to; bytes or null."""
    return records(layers.entries[["layer", "class_name", "kind", "allocated_bytes", "peak_bytes"]].iloc[rows])
