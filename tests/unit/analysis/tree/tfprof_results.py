"""What tfprof returned for a case -> rows as of `Tree`, read without TensorFlow and without a limit of depth.

Source: tensorflow/core/profiler/tfprof_output.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tfprof_widgets.analysis import FIGURES, TreeView
from tfprof_widgets.read import Messages

_FIGURES = (
    "exec_micros",
    "accelerator_exec_micros",
    "cpu_exec_micros",
    "requested_bytes",
    "peak_bytes",
    "residual_bytes",
)
_FIGURES += ("output_bytes", "parameters", "float_ops")
_OF_OP = dict(zip(_FIGURES, (2, 17, 18, 3, 24, 25, 26, 4, 13), strict=True)) | {"run_count": 21}
_OF_OP |= dict(zip((f"total_{name}" for name in _FIGURES), (6, 19, 20, 7, 27, 28, 29, 8, 14), strict=True))
_OF_OP |= {"total_run_count": 22, "total_definition_count": 23}
_OF_MANY = dict(zip(_FIGURES, (2, 12, 13, 3, 16, 17, 18, 4, 5), strict=True))
_OF_MANY |= dict(zip((f"total_{name}" for name in _FIGURES), (6, 14, 15, 7, 19, 20, 21, 8, 9), strict=True))

# Children are bytes: protobuf refuses to parse a chain of a hundred messages.
_MESSAGES = Messages(
    "tests.tfprof_output",
    f"""
Dim: size 1 int64
Shape: dim 2 Dim repeated, unknown_rank 3 bool
SlotShape: key 1 int32, value 2 Shape
One: name 1 string, devices 10 string repeated, children 12 bytes repeated, input_shapes 16 SlotShape repeated,
    {", ".join(f"{name} {number} int64" for name, number in _OF_OP.items())}
Many: name 1 string, graph_nodes 10 One repeated, children 11 bytes repeated,
    {", ".join(f"{name} {number} int64" for name, number in _OF_MANY.items())}
""",
)


@dataclass(frozen=True)
class Row:
    """A node; figures in the order of `FIGURES`."""

    name: str
    depth: int
    own: tuple[int, ...]
    total: tuple[int, ...]
    runs: tuple[int, ...]
    """Own runs; in the scope and graph views total runs and total number of ops; in the others number of ops."""
    device: str
    input_shapes: Any
    ops: tuple[str, ...]
    """In the op and code views the names of the ops."""


def tfprof_rows(view: TreeView, content: bytes) -> list[Row]:
    """The nodes down first, the root before them."""
    return list(_rows(view, content))


def _rows(view: TreeView, content: bytes) -> Iterator[Row]:
    message_class = _MESSAGES["One" if view in ("scope", "graph") else "Many"]
    waiting = [(0, content)]
    while waiting:
        depth, raw = waiting.pop()
        node = message_class.FromString(raw)
        own = tuple(getattr(node, name) for name in _FIGURES)
        total = tuple(getattr(node, f"total_{name}") for name in _FIGURES)
        if view in ("scope", "graph"):
            shapes = {entry.key: _shape(entry.value) for entry in node.input_shapes}
            runs = (node.run_count, node.total_run_count, node.total_definition_count)
            ops: tuple[str, ...] = ()
            device = "|".join(node.devices)
        else:
            runs = (sum(one.run_count for one in node.graph_nodes), len(node.graph_nodes))
            shapes = {}
            ops = tuple(one.name for one in node.graph_nodes)
            device = "|".join(sorted({name for one in node.graph_nodes for name in one.devices}))
        yield Row(node.name, depth, own, total, runs, device, tuple(value for _, value in sorted(shapes.items())), ops)
        waiting += [(depth + 1, child) for child in reversed(node.children)]


def _shape(shape: Any) -> tuple[int, ...] | None:
    return None if shape.unknown_rank else tuple(dim.size for dim in shape.dim)


assert len(_FIGURES) == len(FIGURES)
