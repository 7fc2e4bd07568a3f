"""Variables, gradients and compiled programs of a run -> the sizes of its convolutions' filters."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ...trace.source_map import parse_shapes

if TYPE_CHECKING:
    from .run import Run


_GRADIENT = re.compile(r"Conv2DBackpropFilter(_\d+)?$|DepthwiseConv2dNativeBackpropFilter(_\d+)?$")
_SHAPE = re.compile(r"\[(\d+),(\d+),\d+,\d+\]")
_OPERANDS = re.compile(r"\b(?:convolution|custom-call)\(\w+\[[\d,]+\]\S* \S+ \w+\[(\d+),(\d+),(\d+),(\d+)\]")
"""A compiled convolution of an image and a filter; the filter's shape."""
LARGEST = 63
"""A gradient of an image's size is no filter's."""


def filter_sizes(run: Run) -> dict[str, tuple[int, int]]:
    """Height and width of the filter, by layer or, of convolutions outside of layers, by entry of the `layers` table."""
    sizes = _of_programs(run)
    sizes.update(_of_gradients(run))
    sizes.update(_of_variables(run))
    return {layer: size for layer, size in sizes.items() if max(size) <= LARGEST}


def _of_variables(run: Run) -> dict[str, tuple[int, int]]:
    """Of layers with one filter: what the memory of a gradient has may be laid out in another way."""
    source_map = run.results.source_map
    if source_map is None:
        return {}
    found: dict[str, list[tuple[int, int]]] = {}
    for layer, text in zip(*(source_map.variables[name].tolist() for name in ("layer", "shape")), strict=True):
        shape = next(iter(parse_shapes(str(text))), None) or ()
        if layer and len(shape) == 4 and min(shape) > 0:
            found.setdefault(str(layer), []).append(shape[:2])
    return {layer: sizes[0] for layer, sizes in found.items() if len(sizes) == 1}


def _entry_of(run: Run) -> dict[str, str]:
    layers = run.results.layers
    titles = layers.entries["layer"].tolist()
    return {name: titles[row] for name, row in zip(run.results.op_shares.name, layers.op_entry.tolist(), strict=True)}


def _of_gradients(run: Run) -> dict[str, tuple[int, int]]:
    memory, entry = run.facts.memory, _entry_of(run)
    table, strings = memory.snapshots, memory.strings
    op = np.unique(table.op)
    is_gradient = [k >= 0 and strings[k] in entry and _GRADIENT.search(strings[k]) is not None for k in op.tolist()]
    rows = np.flatnonzero(np.isin(table.op, op[np.array(is_gradient, np.bool_)]) & (table.shape >= 0))
    found: dict[str, tuple[int, int]] = {}
    pairs = np.unique(np.stack([table.op[rows], table.shape[rows]]), axis=1)
    for k, shape in zip(*pairs.tolist(), strict=True):  # one turn per op and shape
        text = _SHAPE.fullmatch(strings[shape])
        if text is not None:
            found[entry[strings[k]]] = int(text[1]), int(text[2])
    return found


def _of_programs(run: Run) -> dict[str, tuple[int, int]]:
    if not run.trace.blobs:
        return {}
    entry = _entry_of(run)
    table = run.results.hlo_ops.frame
    found: dict[str, tuple[int, int]] = {}
    columns = (table[name].tolist() for name in ("expression", "op_name"))
    for text, name in zip(*columns, strict=True):  # one turn per HLO op
        operands = _OPERANDS.search(str(text))
        # The gradient of a filter is a convolution too, of two images.
        if operands is None or name not in entry or "gradient" in str(name):
            continue
        shape = [int(one) for one in operands.groups()]
        # Height and width stand first on a CPU, in the middle or last for cuDNN; of a square filter they are neighbours.
        square = [(a, b) for a, b in pairwise(shape) if a == b]
        if square:
            found[entry[name]] = square[0]
    return found
