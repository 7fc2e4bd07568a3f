"""Live graph ops -> columns of what they read, what shapes they make, where they are placed and which variable they read."""

from __future__ import annotations

import logging
from typing import Any

from .columns import Columns
from .graph_flops import StaticShapes, count_float_ops, without_deprecations

MAX_EDGES = 400_000
"""How many edges are noted; a graph op has about two."""
VARIABLE_READS = frozenset(
    ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarHandleOp", "VariableV2", "Variable")
)
"""Types of ops that stand for a variable: in functions those that read it, in graphs of sessions those that hold it."""
_MAX_CALLS = 100
"""How many functions within functions a captured tensor is followed through; it may go in a circle."""

_logger = logging.getLogger(__name__)


class GraphDetails:
    """Details and edges of the ops noted so far; rows are those of the table of ops."""

    def __init__(self) -> None:
        self.details = Columns("op", "device", "float_ops", "input_shapes", "output_shapes", "variable", "dtype")
        self.edges = Columns("op", "slot", "source", "source_output")
        self.failure = ""
        """What went wrong, as a sentence; "" when all went well."""
        self.n_edges_missed = 0
        self.forget()

    def begin(self, graphs: list[Any], of_handle: dict[int, int]) -> None:
        """Begin: `of_handle` is the row of the variable by the `id` of its handle."""
        self.forget()
        self._of_handle |= of_handle
        for graph in graphs:
            for outer, inner in getattr(graph, "captures", None) or ():
                self._outer[id(inner)] = outer
            for at, argument in enumerate(getattr(graph, "inputs", None) or ()):
                if argument.dtype.name != "resource":  # a variable, which is told by itself
                    self._argument[id(argument)] = at

    def add(self, noted: list[tuple[Any, int]], row_of: dict[str, int]) -> None:
        """Note ops of one graph, each with its row, -1 for those that are not in the table; `row_of` their rows by name."""
        try:
            kinds = self._shapes.kinds if noted else frozenset()
            for operation, row in noted:
                if row >= 0:
                    self._add(operation, row, row_of, is_counted=operation.type in kinds)
        except Exception as error:  # names and lines of the ops are worth having without
            _logger.warning("edges and shapes of graph ops are not known", exc_info=True)
            self.failure = f"Edges and shapes of graph ops are not known in full: {type(error).__name__}: {error}."

    def _add(self, operation: Any, row: int, row_of: dict[str, int], *, is_counted: bool) -> None:
        inputs = operation.inputs
        sources = [(row_of.get(tensor.op.name, -1), self._output(tensor)) for tensor in inputs]
        sources += [(row_of.get(source.name, -1), -1) for source in operation.control_inputs]
        at = self.details.add(
            row,
            operation.device or "",
            0,
            ";".join(map(self._shapes.text, inputs)),
            ";".join(map(self._shapes.text, operation.outputs)),
            self._variable(operation) if operation.type in VARIABLE_READS else -1,
            _dtype(operation),
        )
        for slot, (source, output) in enumerate(sources):
            if source < 0 and output < 0:  # a variable, or what is not in the table
                continue
            if self.edges.n_rows < MAX_EDGES:
                self.edges.add(row, slot, source, output)
            else:
                self.n_edges_missed += 1
        if is_counted:
            self._uncounted.append((operation, at))

    def _output(self, tensor: Any) -> int:
        """Which output of its op a tensor is; of what the table has not which argument of the function, -1 for none."""
        if tensor.op.type == "Placeholder":
            return self._argument.get(id(tensor), -1)
        return int(tensor.value_index)

    def count(self, batch_size: int) -> None:
        """Count the float operations of what was noted."""
        with without_deprecations():
            for operation, at in self._uncounted:
                self.details["float_ops"][at] = count_float_ops(operation, self._shapes, batch_size)

    def forget(self) -> None:
        """Let go of what holds TensorFlow's objects or their ids."""
        self._shapes = StaticShapes()
        self._uncounted: list[tuple[Any, int]] = []
        self._outer: dict[int, Any] = {}
        self._of_handle: dict[int, int] = {}
        self._argument: dict[int, int] = {}

    def _variable(self, operation: Any) -> int:
        """The row of the variable that an op stands for, -1 for none that is known."""
        handle = operation.inputs[0] if len(operation.inputs) else operation.outputs[0]
        for _ in range(_MAX_CALLS):
            found = self._of_handle.get(id(handle))
            if found is not None:
                return found
            handle = self._outer.get(id(handle))
            if handle is None:
                break
        return -1


def _dtype(operation: Any) -> str:
    """The type of what an op makes first; where it makes nothing, as one that assigns, of what it reads last."""
    tensors = [*operation.inputs[-1:], *operation.outputs[:1]]
    return str(tensors[-1].dtype.base_dtype.name) if tensors else ""
