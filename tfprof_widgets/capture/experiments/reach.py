"""reach: a model, callbacks and what they hold -> the mutable Python state and the variables that training may change."""

from __future__ import annotations

import collections
import functools
import sys
import threading
import types
from collections.abc import Iterable, Iterator
from typing import Any

from ..source.source_files import is_user_file

MAX_ARRAY_BYTES = 64 * 2**20
"""Of NumPy arrays, together: indices that a data set shuffles in place are small; the data themselves nobody changes."""


class Reached:
    """All that can be reached from some objects through Keras objects, the user's own objects and containers.

    TensorFlow's and other packages' objects are not entered, but for variables, which are leaves. Functions of the user lead
    to what they close over and to the globals that they name.
    """

    def __init__(self, roots: Iterable[Any]) -> None:
        import numpy as np
        import tensorflow as tf

        self.namespaces: list[dict[str, Any]] = []
        """The `__dict__` of objects."""
        self.objects: list[Any] = []
        """The objects that those belong to."""
        self.containers: list[Any] = []
        """Lists, dicts, sets and deques."""
        self.wrappers: list[Any] = []
        """TensorFlow's wrappers around dicts, which note whether someone else changes the dict."""
        self.variables: list[Any] = []
        """Every `tf.Variable`, those that a distributed one consists of in its place."""
        self.arrays: list[Any] = []
        """Writeable NumPy arrays, as many as `MAX_ARRAY_BYTES` allow."""
        self.cells: list[types.CellType] = []
        self.globals: list[tuple[dict[str, Any], str]] = []
        """Names of modules that the user's functions use."""
        self._variable_type, self._array_type = tf.Variable, np.ndarray
        self._generator_type = tf.random.Generator
        self._room_bytes = MAX_ARRAY_BYTES
        self._seen: dict[int, Any] = {}
        # The bound is the number of objects of the program: layers, nodes of the graph of layers, entries of lists.
        waiting = list(roots)
        while waiting:
            item = waiting.pop()
            if isinstance(item, _PLAIN) or id(item) in self._seen:
                continue
            self._seen[id(item)] = item  # held, so that no other object gets its id
            waiting.extend(self._inside(item))

    def _inside(self, item: Any) -> Iterable[Any]:
        if isinstance(item, self._variable_type):
            parts = getattr(item, "values", None)
            self.variables.extend(parts if isinstance(parts, (tuple, list)) else [item])
            return ()
        if isinstance(item, self._generator_type):
            return (item.state,)
        if isinstance(item, self._array_type):
            self._note_array(item)
            return ()
        if isinstance(item, types.FunctionType):
            return self._used_by(item) if is_user_file(item.__code__.co_filename) else ()
        if isinstance(item, types.MethodType):
            return (item.__self__, item.__func__)
        if isinstance(item, functools.partial):
            return (item.func, *item.args, *item.keywords.values())
        if isinstance(item, (tuple, frozenset)):
            return tuple(item)
        inside: list[Any] = []
        if isinstance(item, dict) and not issubclass(type(item), dict):  # TensorFlow's wrapper around a dict
            self.wrappers.append(item)
            return (getattr(item, "__wrapped__", None),)
        if isinstance(item, _CONTAINERS):
            self.containers.append(item)
            inside = [*dict.values(item), *dict.keys(item)] if isinstance(item, dict) else list(item)
        elif not self._is_entered(item):
            return ()
        own = getattr(item, "__dict__", None)
        if isinstance(own, dict):
            self.namespaces.append(own)
            self.objects.append(item)
            inside += own.values()
            kind: Any = type(item)
            inside += methods_of_user(kind)
        return inside

    def _is_entered(self, item: Any) -> bool:
        if isinstance(item, (type, types.ModuleType, threading.Thread)):
            return False
        kind: Any = type(item)  # to mypy no class can be hashed
        return is_keras(kind) or is_of_user(kind)

    def _note_array(self, array: Any) -> None:
        if array.flags.writeable and not array.dtype.hasobject and array.nbytes <= self._room_bytes:
            self._room_bytes -= array.nbytes
            self.arrays.append(array)

    def _used_by(self, function: types.FunctionType) -> Iterator[Any]:
        for cell in function.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:  # still empty
                continue
            self.cells.append(cell)
            yield content
        yield from function.__defaults__ or ()
        names = function.__globals__
        for name in names_in(function.__code__):
            if name in names and not isinstance(names[name], (types.ModuleType, type)):
                self.globals.append((names, name))
                yield names[name]


_PLAIN = (type(None), bool, int, float, complex, str, bytes, types.ModuleType, types.BuiltinFunctionType)
_CONTAINERS = (list, dict, set, collections.deque)


def names_in(code: types.CodeType) -> Iterator[str]:
    """Names of globals and attributes in a function and the functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)


@functools.lru_cache(maxsize=4096)
def is_keras(kind: Any) -> bool:
    """Whether a class is one of Keras, or derives from one."""
    return any(base.__module__.partition(".")[0] in ("keras", "tf_keras") for base in kind.__mro__)


@functools.lru_cache(maxsize=4096)
def is_of_user(kind: Any) -> bool:
    """Whether a class was defined in a cell, a script or a module of the user."""
    module = sys.modules.get(kind.__module__)
    if module is None:
        return False
    if kind.__module__ == "__main__":
        return True
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and is_user_file(file)


@functools.lru_cache(maxsize=4096)
def methods_of_user(kind: Any) -> tuple[types.FunctionType, ...]:
    """The functions of a class and its bases that the user wrote."""
    found = []
    for base in kind.__mro__:
        for value in vars(base).values():
            function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
            if isinstance(function, types.FunctionType) and is_user_file(function.__code__.co_filename):
                found.append(function)
    return tuple(found)
