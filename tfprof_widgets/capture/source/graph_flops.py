"""A live graph op -> the float operations of one execution, by the statistics that TensorFlow has registered for its type."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

_RESHAPES = frozenset(("Reshape", "ExpandDims", "Squeeze"))
_ARGUMENTS = frozenset(("Placeholder", "IteratorGetNext", "OptionalGetValue"))
"""Types of ops that bring a batch into a function."""
_MAX_DEPTH = 50
"""How far an unknown dimension is followed to where it comes from."""

_logger = logging.getLogger(__name__)
Shape = tuple[int, ...] | None


@dataclass
class StaticShapes:
    """Shapes of tensors of one look, by the `id` of the tensor, which its graph keeps alive."""

    _texts: dict[int, str] = field(default_factory=dict)
    _text_of: dict[Shape, str] = field(default_factory=dict)
    _shapes: dict[int, Shape] = field(default_factory=dict)
    _whole: dict[int, Shape] = field(default_factory=dict)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Types of ops that have statistics; none where TensorFlow no longer registers any."""
        try:
            from tensorflow.python.framework import ops
            from tensorflow.python.profiler.internal import flops_registry  # noqa: F401 -- it registers them

            names = [name.split(",") for name in ops._stats_registry.list()]
        except (ImportError, AttributeError):
            _logger.info("float operations are not known", exc_info=True)
            return frozenset()
        return frozenset(name[0] for name in names if name[1:] == ["flops"])

    @cached_property
    def tools(self) -> tuple[Any, Any]:
        """TensorFlow's function that counts, and its class of shapes."""
        from tensorflow import TensorShape
        from tensorflow.python.framework import ops

        return ops.get_stats_for_node_def, TensorShape

    def of(self, tensor: Any) -> Shape:
        """The shape of a tensor as its graph knows it: -1 for an unknown dimension, None for an unknown rank."""
        key = id(tensor)
        if key not in self._shapes:
            shape = tensor.shape
            self._shapes[key] = None if shape.rank is None else tuple([-1 if d is None else d for d in shape.as_list()])
        return self._shapes[key]

    def text(self, tensor: Any) -> str:
        """The shape as the sidecar has it, see `parse_shapes` of its reader."""
        key = id(tensor)
        text = self._texts.get(key)
        if text is None:
            shape = self.of(tensor)
            if shape not in self._text_of:
                self._text_of[shape] = "?" if shape is None else "x".join(map(str, shape)) if shape else "()"
            text = self._texts[key] = self._text_of[shape]
        return text

    def whole(self, tensor: Any, batch_size: int, depth: int = 0) -> Shape:
        """The shape with an unknown dimension filled in, for batches of `batch_size`; None where it cannot be told.

        One unknown dimension is that of the input which has one; of what is reshaped, what the number of elements leaves;
        of a function's argument, when it is the first, the batch.
        """
        key, shape = id(tensor), self.of(tensor)
        if shape is None or shape.count(-1) > 1 or (-1 in shape and (depth > _MAX_DEPTH or not batch_size)):
            return None
        if -1 not in shape:
            return shape
        if key not in self._whole:
            self._whole[key] = None  # a loop finds nothing
            size = self._unknown(tensor.op, shape, batch_size, depth)
            self._whole[key] = None if size is None else tuple(size if d < 0 else d for d in shape)
        return self._whole[key]

    def _unknown(self, operation: Any, shape: tuple[int, ...], batch_size: int, depth: int) -> int | None:
        """The size of the one unknown dimension of an output of an op."""
        if operation.type in _ARGUMENTS:
            return batch_size if shape[0] < 0 else None
        inputs = list(operation.inputs)
        if operation.type in _RESHAPES:
            known = self.whole(inputs[0], batch_size, depth + 1) if inputs else None
            rest = math.prod(d for d in shape if d >= 0)
            return None if known is None or not rest else math.prod(known) // rest
        for tensor in inputs:
            own = self.of(tensor)
            if own is None or -1 not in own:
                continue
            known = self.whole(tensor, batch_size, depth + 1)
            if known is not None:
                return known[own.index(-1)]
        return None


def _filled(tensors: dict[str, Any], shapes: StaticShapes, batch_size: int) -> Any:
    """A graph whose tensors have no unknown dimension, as far as statistics ask."""

    def get_tensor_by_name(name: str) -> Any:
        shape = shapes.tools[1](shapes.whole(tensors[name], batch_size))
        return SimpleNamespace(get_shape=lambda: shape)

    return SimpleNamespace(get_tensor_by_name=get_tensor_by_name)


def count_float_ops(operation: Any, shapes: StaticShapes, batch_size: int) -> int:
    """The float operations of an op; 0 where it has no statistics or a shape is unknown."""
    get_stats, _ = shapes.tools
    try:
        tensors = {tensor.name: tensor for tensor in (*operation.inputs, *operation.outputs)}
        if any(shapes.whole(tensor, batch_size) is None for tensor in tensors.values()):
            return 0  # most statistics raise then, which takes time
        found = get_stats(_filled(tensors, shapes, batch_size), operation.node_def, "flops").value
        return min(max(int(found or 0), 0), 2**62)
    except Exception:  # a shape that does not fit, an attribute that is missing: anybody's statistics may fail
        return 0


@contextlib.contextmanager
def without_deprecations() -> Iterator[None]:
    """Without TensorFlow's advice on what its own statistics call."""
    from tensorflow.python.util import deprecation

    silence = getattr(deprecation, "silence", None)
    with contextlib.nullcontext() if silence is None else silence():
        yield
