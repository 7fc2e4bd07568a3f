"""A model, its callbacks and the process's random state -> all of it remembered, and put back bit for bit."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import os
import random
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..trace.scratch import make_folder, remove_folder
from .program.frames import is_user_file
from .windows import run_shielded

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


T = TypeVar("T")

_OF_WRAPPERS = ("_self_last_wrapped_dict_snapshot", "_self_external_modification", "_self_non_string_key")
"""What TensorFlow's wrapper around a dict knows of it: after a change behind its back it refuses to save a checkpoint."""


def run_preserved(action: Callable[[Kept], T], *roots: Any) -> T:
    """Run `action` and put back what it changed in what `roots` reach and in the process's random state, however it ended."""
    kept = Kept(*roots)
    try:
        try:
            kept.isolate()
            return action(kept)
        finally:
            run_shielded(kept.restore)
    finally:
        # A second Ctrl-C can arrive between the first `finally` and the shield.
        if not kept.is_restored:
            run_shielded(kept.restore)


class Kept:
    """What some objects held when this was made.

    Put back are: attributes of Keras objects and of the user's (so an optimizer, a metric or a model that was not built is
    not built again), contents of their containers, values of variables, closures and named globals of their functions,
    `random`, `numpy.random`, TensorFlow's and Keras' random state and Keras' counters of names. Objects are changed in
    place, so whoever holds them sees it.

    Not put back: what other packages' objects hold (files, connections), and traces that were added to a `tf.function`
    outside of the model.
    """

    def __init__(self, *roots: Any) -> None:
        import numpy as np

        found = Reached([*roots, *_keras_globals()])
        self.shared = [*filter(_is_keras, found.objects), *found.variables]
        """Keras' objects and the variables: what a copy of a callback must share with the callback."""
        self.is_restored = False
        self._objects, self._namespaces = found.objects, found.namespaces
        self._undo: list[Callable[[], object]] = [partial(_set_attributes, own, dict(own)) for own in found.namespaces]
        """Each puts one thing back; the values of the variables and the process's state come after them."""
        self._undo += [partial(_set_content, item, _content(item)) for item in found.containers]
        self._undo += [
            _attribute(item, name) for item in found.wrappers for name in _OF_WRAPPERS if hasattr(item, name)
        ]
        self._undo += [_attribute(cell, "cell_contents") for cell in found.cells]
        self._undo += [partial(names.__setitem__, name, names[name]) for names, name in found.globals]
        self._undo += [partial(np.copyto, array, array.copy()) for array in found.arrays]
        self._values = [(variable, _value(variable)) for variable in found.variables if _is_initialized(variable)]
        self._undo_process = list(_process_state())

    def isolate(self) -> None:
        """Give the objects traced functions of their own for the time being.

        A `tf.function` of theirs keeps the variables that it was traced with: a trace made while the optimizer has
        variables that are dropped again would train those for ever.
        """
        for own in self._namespaces:
            for name, value in list(own.items()):
                if _is_traced(value):
                    own[name] = value._clone(None)
        caches: dict[type, list[Any]] = {}
        for item in self._objects:
            if type(item) not in caches:
                caches[type(item)] = _method_caches(type(item))
            for cache in caches[type(item)]:
                self._undo.append(partial(_set_cached, cache, item, cache.get(item)))
                cache.pop(item, None)

    def restore_values(self) -> None:
        """Put the values of the variables back, and nothing else: every measured run starts from the same ones."""
        for variable, value in self._values:
            variable.assign(value)

    def restore(self) -> None:
        """Put everything back; a second call does nothing."""
        if self.is_restored:
            return
        for undo in self._undo:
            undo()
        self.restore_values()
        for undo in self._undo_process:
            undo()
        self.is_restored = True


def _attribute(thing: Any, name: str) -> Callable[[], object]:
    """What gives an attribute the value that it has now."""
    return partial(setattr, thing, name, getattr(thing, name))


def _process_state() -> Iterator[Callable[[], object]]:
    """What puts back the random state of the process, for much of which there are no public names, and TensorBoard's step."""
    import numpy as np
    import tensorflow as tf

    yield partial(random.setstate, random.getstate())
    yield partial(np.random.set_state, np.random.get_state())
    with contextlib.suppress(ImportError, AttributeError):
        from tensorflow.python.eager import context

        # Of `tf.random.set_seed`, and the generator of the seeds of ops.
        current = context.context()
        yield _attribute(current, "_seed")
        yield _attribute(current, "_rng")
        if isinstance(current._rng, random.Random):
            yield partial(current._rng.setstate, current._rng.getstate())
    with contextlib.suppress(ImportError, AttributeError):
        from tensorflow.python.ops import stateful_random_ops

        # `tf.random.get_global_generator()` would make one.
        yield _attribute(stateful_random_ops, "global_generator")
        generator = stateful_random_ops.global_generator
        if generator is not None:
            yield partial(generator.state.assign, generator.state.numpy())
    yield partial(tf.summary.experimental.set_step, tf.summary.experimental.get_step())


def _keras_globals() -> list[Any]:
    """Keras' settings of this thread: the global seed generator and the counters behind names such as `dense_1`."""
    with contextlib.suppress(ImportError, AttributeError):
        from keras.src.backend.common import global_state

        return [vars(global_state.GLOBAL_STATE_TRACKER)]
    return []


def _is_traced(value: Any) -> bool:
    """Whether it is what `tf.function` returns."""
    kind = type(value)
    return kind.__name__ == "Function" and kind.__module__.startswith("tensorflow.") and hasattr(value, "_clone")


def _is_keras(item: Any) -> bool:
    kind: Any = type(item)
    return is_keras(kind)


def _method_caches(kind: type) -> list[Any]:
    """Of each traced method of a class: the traces by object."""
    methods = [value for base in kind.__mro__ for value in vars(base).values() if _is_traced(value)]
    return [method._descriptor_cache for method in methods if hasattr(method, "_descriptor_cache")]


def _is_initialized(variable: Any) -> bool:
    try:
        return bool(variable.is_initialized())
    except Exception:  # a symbolic variable of a graph in the making has no value to keep
        return False


def _value(variable: Any) -> Any:
    """A copy of the value, in the host's memory: that of a GPU may have no room for two."""
    import tensorflow as tf

    try:
        return variable.numpy()
    except (NotImplementedError, TypeError, ValueError):  # a type that NumPy does not know
        with tf.device("CPU:0"):
            return tf.raw_ops.DeepCopy(x=variable.read_value())


def _content(item: Any) -> Any:
    return dict(item.items()) if isinstance(item, dict) else list(item)


def _set_attributes(own: dict[str, Any], before: dict[str, Any]) -> None:
    for name in [name for name in own if name not in before]:
        del own[name]
    for name, value in before.items():
        if own.get(name, own) is not value:
            own[name] = value


def _set_cached(cache: Any, item: Any, function: Any) -> None:
    cache.pop(item, None)
    if function is not None:
        cache[item] = function


def _set_content(item: Any, before: Any) -> None:
    """Fill a container by its built-in base: Keras' own lists would note anew what they are given."""
    if isinstance(item, dict):
        if len(item) == len(before) and all(a is b and item[a] is before[b] for a, b in zip(item, before, strict=True)):
            return
        kind: Any = collections.OrderedDict if isinstance(item, collections.OrderedDict) else dict
        kind.clear(item)
        kind.update(item, before)
    elif isinstance(item, list):
        if len(item) != len(before) or any(a is not b for a, b in zip(item, before, strict=True)):
            list.__setitem__(item, slice(None), before)
    elif isinstance(item, set):
        if len(item) != len(before) or not all(value in item for value in before):
            set.clear(item)
            set.update(item, before)
    else:
        item.clear()
        item.extend(before)


_PLACES = {
    "ModelCheckpoint": "filepath",
    "BackupAndRestore": "backup_dir",
    "CSVLogger": "filename",
    "TensorBoard": "log_dir",
}
"""Callbacks of Keras that write -> the attribute that says where."""


class CallbackSet:
    """The callbacks that one variant runs with.

    Args:
        callbacks: the user's.
        shared: what copies do not copy.

    Each run gets new copies, which share the model and all else of Keras with the originals. What cannot be copied runs
    itself; its attributes are put back with everything else. Keras' own callbacks write into a folder that is deleted.
    """

    def __init__(self, callbacks: Sequence[Any], shared: Sequence[Any]) -> None:
        self._callbacks = tuple(callbacks)
        self._shared = [item for item in shared if not any(item is callback for callback in callbacks)]
        self.notices: list[str] = []
        for callback in self._callbacks:
            if self._copied(callback) is callback:
                self.notices.append(
                    f"{type(callback).__name__} could not be copied and ran itself; its attributes are as before."
                )

    @contextlib.contextmanager
    def opened(self, model: Any, *, n_steps: int) -> Iterator[Any]:
        """A `keras.callbacks.CallbackList` of copies; whatever it runs on other threads has ended afterwards."""
        import keras

        folder = make_folder(0)
        try:
            copies = [self._copied(callback) for callback in self._callbacks]
            for number, callback in enumerate(copies):
                _redirect(callback, folder / str(number))
            called = keras.callbacks.CallbackList(
                copies, add_history=True, add_progbar=False, model=model, verbose=0, epochs=1, steps=n_steps
            )
            try:
                yield called
            finally:
                executor = getattr(called, "_executor", None)
                if executor is not None:
                    executor.shutdown(wait=True)
        finally:
            remove_folder(folder, os.getpid())

    def _copied(self, callback: Any) -> Any:
        memo: dict[int, Any] = {id(item): item for item in self._shared}
        try:
            return copy.deepcopy(callback, memo)
        except Exception:  # files, locks, connections: each class fails in its own way
            return callback


def _redirect(callback: Any, folder: Path) -> None:
    for kind in type(callback).__mro__:
        place = _PLACES.get(kind.__name__) if kind.__module__.startswith("keras.") else None
        before = getattr(callback, place, None) if place is not None else None
        if isinstance(before, (str, Path)):
            folder.mkdir(parents=True, exist_ok=True)
            old, new = str(before), str(folder / Path(before).name)
            for name, value in vars(callback).items():
                # Some make more paths of that one when they are made.
                if isinstance(value, (str, Path)) and str(value).startswith(old):
                    setattr(callback, name, new + str(value)[len(old) :])
