"""Live variables of Keras and TensorFlow -> columns of their names, shapes, layers and devices.

A Keras layer's weights come first, under the layer's path; then variables that nobody but the user's code holds. What an
optimizer, a metric or a random generator of Keras keeps for itself is no variable of the model, and left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from .columns import Columns
from .keras_layers import alive, below, listed, own_values, parts_of

MAX_VARIABLES = 20_000
_WEIGHTS = ("_trainable_variables", "_non_trainable_variables", "_trainable_weights", "_non_trainable_weights")
"""Where layers of Keras 3, and of Keras 2, keep their own weights."""
_LATER_REPLICA = re.compile(r"/replica_[1-9]\d*(:0)?$")


class VariableTable:
    """Variables noted so far."""

    def __init__(self) -> None:
        self.variables = Columns("name", "shape", "dtype", "trainable", "layer", "device")
        self.n_missed = 0
        self._rows: dict[tuple[int, str, str], int] = {}

    def add_live(self, objects: list[Any]) -> dict[int, int]:
        """Note the variables among `objects` and in the layers there; the row of each by the `id` of its handle."""
        self.n_missed = 0
        managed: set[int] = set()
        of_handle: dict[int, int] = {}
        for path, kept in _weights(objects):
            variable = _inner(kept)
            if id(variable) not in managed:
                managed.add(id(variable))
                self._add(kept, variable, path, of_handle)
        base, keras_base = variable_classes()
        # A wrapped variable is nobody's own.
        managed.update(id(_inner(thing)) for thing in alive(objects, keras_base))
        for thing in alive(objects, base):
            if id(thing) not in managed:
                self._add(thing, thing, "", of_handle)
        return of_handle

    def _add(self, shown: Any, variable: Any, layer: str, of_handle: dict[int, int]) -> None:
        """Note one variable: `shown` is Keras' wrapper, if it has one, of TensorFlow's `variable`."""
        own, inner = own_values(shown), own_values(variable)
        name = own.get("_path") or own.get("_handle_name") or inner.get("_handle_name")
        if not isinstance(name, str) or _LATER_REPLICA.search(name):  # copies of one variable, on other devices
            return
        name = name.removesuffix(":0")
        handle = inner.get("_handle")
        shape = _shape_text(own.get("_shape", inner.get("_shape")))
        key = id(variable), name, shape
        row = self._rows.get(key)
        trainable = bool(own.get("_trainable", inner.get("_trainable")))
        if row is None:
            if self.variables.n_rows >= MAX_VARIABLES:
                self.n_missed += 1
                return
            dtype = own.get("_dtype", inner.get("_dtype"))
            dtype_text = str(getattr(dtype, "name", dtype) or "")
            device = str(getattr(handle, "device", "") or "")
            row = self._rows[key] = self.variables.add(name, shape, dtype_text, trainable, layer, device)
        self.variables["trainable"][row] = trainable
        if handle is not None:
            of_handle[id(handle)] = row


def variable_classes() -> tuple[type | None, type | None]:
    """The class of TensorFlow's variables, and Keras' own around them; None for what the program has not loaded."""
    base = getattr(sys.modules.get("tensorflow.python.ops.resource_variable_ops"), "BaseResourceVariable", None)
    keras_base = getattr(sys.modules.get("keras"), "Variable", None)
    return (base if isinstance(base, type) else None), (keras_base if isinstance(keras_base, type) else None)


def holders(objects: list[Any]) -> list[Any]:
    """Layers, models and optimizers: what keeps a list of weights."""
    return [thing for thing in objects if any(name in own_values(thing) for name in _WEIGHTS)]


def own_weights(layer: Any) -> Iterator[Any]:
    """TensorFlow's variables in the lists that a layer or optimizer keeps itself."""
    own = own_values(layer)
    for key in _WEIGHTS:
        yield from map(_inner, listed(own.get(key)))


def serial_number(variable: Any) -> int:
    """A number that grows from each variable to the next, 0 where it is not known: TensorFlow ends their unique names with it."""
    digits = str(own_values(variable).get("_unique_id", "")).rpartition("_")[2]
    return int(digits) if digits.isdecimal() and len(digits) < 19 else 0


def _weights(objects: list[Any]) -> Iterator[tuple[str, Any]]:
    """The weights of all live layers, each with the path of its layer, models before what is no part of another."""
    layers = holders(objects)
    inner = {id(part) for layer in layers for part in parts_of(layer) if part is not layer}
    # A sequential model keeps a functional one of the same layers, which nobody else knows.
    inner |= {id(own_values(layer).get("_functional")) for layer in layers}
    seen: set[int] = set()
    # Last those that lie within another; only where layers hold each other are any of them not met before.
    for root in sorted(layers, key=lambda layer: id(layer) in inner):
        if id(root) in seen:
            continue
        for layer, path in below(root):
            seen.add(id(layer))
            for key in _WEIGHTS:
                for kept in listed(own_values(layer).get(key)):
                    yield path, kept


def _inner(kept: Any) -> Any:
    """TensorFlow's variable in one of Keras; the same for one of TensorFlow."""
    found = own_values(kept).get("_value", kept)
    copies = own_values(found).get("_values")  # of a distributed variable the first copy stands for all
    return copies[0] if isinstance(copies, (list, tuple)) and copies else found


def _shape_text(shape: Any) -> str:
    if shape is None or getattr(shape, "rank", 0) is None:
        return "?"
    try:
        sizes = [-1 if size is None else int(size) for size in shape]
    except (TypeError, ValueError):
        return "?"
    return "x".join(map(str, sizes)) if sizes else "()"
