"""The running process -> its live objects of TensorFlow and Keras, and what they were made of; none runs any code of its own."""

from __future__ import annotations

import functools
import gc
import itertools
import sys
from types import FunctionType, MethodType
from typing import Any

from .keras_layers import keras_class
from .live_variables import variable_classes

MAX_WRAPPERS = 100
"""How many decorators of a function are looked through; they may go in a circle."""

_FUNCTIONS = "tensorflow.python.eager.polymorphic_function"
_mro = type.__dict__["__mro__"].__get__
"""The bases of a class, whatever its metaclass makes of attributes."""


def live_objects() -> list[Any]:
    """Live graphs, functions of TensorFlow, variables, Keras layers and optimizers; hold them no longer than needed."""
    keras = [
        keras_class(module, part, name)
        for module in ("keras", "tf_keras")
        for part, name in (("layers", "Layer"), ("optimizers", "Optimizer"))
    ]
    bases = [kind for kind in (*graph_classes(), *keras, *variable_classes()) if kind is not None]
    objects = gc.get_objects()
    # By their types first: a process has some 10,000 of these and some 1,000,000 objects. By the types' ids, and not with
    # issubclass(): a metaclass of the user's may do anything to tell a hash or a subclass.
    kinds = dict(zip(map(id, map(type, objects)), map(type, objects), strict=True))
    wanted_bases = set(map(id, bases))
    wanted = {key for key, kind in kinds.items() if not wanted_bases.isdisjoint(map(id, _mro(kind)))}
    return list(itertools.compress(objects, map(wanted.__contains__, map(id, map(type, objects)))))


def graph_classes() -> tuple[type | None, type | None, type | None]:
    """The class of graphs, of what `tf.function` returns, and of functions of the runtime; None for what is not loaded."""
    # Private modules: no public name leads from a function to its graphs.
    return (
        _loaded("tensorflow.python.framework.ops", "Graph"),
        _loaded(f"{_FUNCTIONS}.polymorphic_function", "Function"),
        _loaded(f"{_FUNCTIONS}.atomic_function", "AtomicFunction"),
    )


def function_graph_class() -> type | None:
    """The class of the graphs of functions; None where TensorFlow is not loaded."""
    return _loaded("tensorflow.python.framework.func_graph", "FuncGraph")


def _loaded(module: str, name: str) -> type | None:
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) else None


def plain_function(function: Any) -> FunctionType | None:
    """The function that was decorated; None for callables that are no functions, which may answer anything when asked."""
    for _ in range(MAX_WRAPPERS):
        kind = type(function)
        if kind is MethodType:
            function = function.__func__
        elif kind is functools.partial:
            function = function.func
        elif kind is not FunctionType:
            return None
        elif "__wrapped__" in function.__dict__:
            function = function.__dict__["__wrapped__"]
        else:
            return function  # type: ignore[no-any-return]
    return None
