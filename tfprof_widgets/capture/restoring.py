"""A model, its callbacks and the process's random state -> all of it remembered, and put back bit for bit."""

from __future__ import annotations

import contextlib
import copy
import functools
import operator
import os
import random
import sys
import threading
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..trace.scratch import make_folder, remove_folder
from .program.frames import is_user_file
from .signals import run_shielded

T = TypeVar("T")

MAX_ARRAY_BYTES = 64 * 2**20
"""Of NumPy arrays, together: indices that a data set shuffles in place are small; the data themselves nobody changes."""

_PLAIN = (type(None), bool, int, float, complex, str, bytes, types.ModuleType, types.BuiltinFunctionType)
_CONTAINERS = (OrderedDict, dict, list, set, deque)
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
    """What some objects, and the process's random state, held when this was made.

    From the objects it goes through Keras' and the user's objects, containers, and what the user's functions close over
    and name, to variables and arrays; an optimizer that was not built is not built again. Objects are changed in place.
    Not put back: what other packages' objects hold, and traces that were added to a `tf.function` outside of the model.
    """

    def __init__(self, *roots: Any) -> None:
        self.shared: list[Any] = []
        """Keras' objects and the variables: what a copy of a callback must share with the callback."""
        self.is_restored = False
        self._objects: list[Any] = []
        self._undo: list[Callable[[], object]] = []
        self._values: list[tuple[Any, Any]] = []
        self._room_bytes = MAX_ARRAY_BYTES
        seen: dict[int, Any] = {}
        waiting = [*roots, *_keras_globals()]
        while waiting:
            item = waiting.pop()
            if not isinstance(item, _PLAIN) and id(item) not in seen:
                seen[id(item)] = item  # held, so that no other object gets its id
                waiting.extend(self._keep(item))
        self._undo_process = list(_process_state())

    def isolate(self) -> None:
        """Give the objects traced functions of their own for the time being.

        A `tf.function` of theirs keeps the variables that it was traced with: a trace made while the optimizer has
        variables that are dropped again would train those for ever.
        """
        caches_of: Callable[[Any], list[Any]] = functools.cache(_method_caches)
        for item in self._objects:
            own = vars(item)
            own.update({name: value._clone(None) for name, value in own.items() if _is_traced(value)})
            for cache in caches_of(type(item)):
                self._undo.append(partial(cache.pop, item, None))
                if (function := cache.get(item)) is not None:
                    self._undo.append(partial(cache.__setitem__, item, function))
                cache.pop(item, None)  # last, as a Ctrl-C may come in between

    def restore_values(self) -> None:
        """Put the values of the variables back, and nothing else: every measured run starts from the same ones."""
        for variable, value in self._values:
            variable.assign(value)

    def restore(self) -> None:
        """Put everything back; a second call does nothing."""
        if not self.is_restored:
            for undo in (*self._undo, self.restore_values, *self._undo_process):
                undo()
            self.is_restored = True

    def _keep(self, item: Any) -> Iterable[Any]:
        """Remember what an object holds, and give what it leads to."""
        import numpy as np
        import tensorflow as tf

        if isinstance(item, tf.Variable):
            self._keep_variable(item)
        elif isinstance(item, np.ndarray):
            if item.flags.writeable and not item.dtype.hasobject and item.nbytes <= self._room_bytes:
                self._room_bytes -= item.nbytes
                self._undo.append(partial(np.copyto, item, item.copy()))
        elif isinstance(item, tf.random.Generator):
            return (item.state,)
        elif isinstance(item, types.FunctionType):
            return self._used_by(item) if is_user_file(item.__code__.co_filename) else ()
        elif isinstance(item, types.MethodType):
            return (item.__self__, item.__func__)
        elif isinstance(item, partial):
            return (item.func, *item.args, *item.keywords.values())
        elif isinstance(item, (tuple, frozenset)):
            return item
        elif isinstance(item, dict) and not issubclass(type(item), dict):  # TensorFlow's wrapper around a dict
            self._undo += [_attribute(item, name) for name in _OF_WRAPPERS if hasattr(item, name)]
            return (getattr(item, "__wrapped__", None),)
        elif isinstance(item, _CONTAINERS):
            content = _content(item)
            self._undo.append(partial(_set_content, item, content))
            return [*content, *self._keep_attributes(item)]
        elif not isinstance(item, (type, threading.Thread)) and (_is_keras(item) or _is_of_user(item)):
            return self._keep_attributes(item)
        return ()

    def _keep_variable(self, variable: Any) -> None:
        parts = getattr(variable, "values", None)  # of a distributed one
        for part in parts if isinstance(parts, (tuple, list)) else [variable]:
            self.shared.append(part)
            value = _value(part)
            if value is not None:
                self._values.append((part, value))

    def _keep_attributes(self, item: Any) -> Iterable[Any]:
        own = getattr(item, "__dict__", None)
        if not isinstance(own, dict):
            return ()
        self._objects.append(item)
        self._undo.append(partial(_set_attributes, own, dict(own)))
        if _is_keras(item):
            self.shared.append(item)
        kind: Any = type(item)  # to mypy no class can be hashed
        return (*own.values(), *_methods_of_user(kind))

    def _used_by(self, function: types.FunctionType) -> Iterator[Any]:
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # still empty
                self._undo.append(_attribute(cell, "cell_contents"))
                yield cell.cell_contents
        yield from function.__defaults__ or ()
        names = function.__globals__
        for name in _names_in(function.__code__):
            if name in names and not isinstance(names[name], (types.ModuleType, type)):
                self._undo.append(partial(names.__setitem__, name, names[name]))
                yield names[name]


def _names_in(code: types.CodeType) -> Iterator[str]:
    """Names of globals and attributes in a function and the functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)


def _is_keras(item: Any) -> bool:
    return any(base.__module__.partition(".")[0] in ("keras", "tf_keras") for base in type(item).__mro__)


def _is_of_user(item: Any) -> bool:
    """Whether its class was defined in a cell, a script or a module of the user."""
    name = type(item).__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    return name == "__main__" or (isinstance(file, str) and is_user_file(file))


@functools.lru_cache(maxsize=4096)
def _methods_of_user(kind: Any) -> tuple[types.FunctionType, ...]:
    """The functions of a class and its bases that the user wrote."""
    found = []
    for value in (value for base in kind.__mro__ for value in vars(base).values()):
        function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        if isinstance(function, types.FunctionType) and is_user_file(function.__code__.co_filename):
            found.append(function)
    return tuple(found)


def _attribute(thing: Any, name: str) -> Callable[[], object]:
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
    kind = type(value)
    return kind.__name__ == "Function" and kind.__module__.startswith("tensorflow.") and hasattr(value, "_clone")


def _method_caches(kind: Any) -> list[Any]:
    """Of each traced method of a class: the traces by object."""
    methods = [value for base in kind.__mro__ for value in vars(base).values() if _is_traced(value)]
    return [method._descriptor_cache for method in methods if hasattr(method, "_descriptor_cache")]


def _value(variable: Any) -> Any:
    """A copy of the value, in the host's memory, as that of a GPU may have no room for two; None without a value."""
    import tensorflow as tf

    try:
        if not variable.is_initialized():
            return None
    except Exception:  # a symbolic variable of a graph in the making
        return None
    try:
        return variable.numpy()
    except (NotImplementedError, TypeError, ValueError):  # a type that NumPy does not know
        with tf.device("CPU:0"):
            return tf.raw_ops.DeepCopy(x=variable.read_value())


def _set_attributes(own: dict[str, Any], before: dict[str, Any]) -> None:
    for name in own.keys() - before.keys():
        del own[name]
    for name, value in before.items():
        if own.get(name, own) is not value:
            own[name] = value


def _content(item: Any) -> list[Any]:
    """The items of a container; of a dict each key and its value."""
    return [part for pair in item.items() for part in pair] if isinstance(item, dict) else list(item)


def _set_content(item: Any, before: list[Any]) -> None:
    """Fill a container by its built-in base: Keras' own lists would note anew what they are given."""
    now = _content(item)
    if len(now) == len(before) and all(map(operator.is_, now, before)):
        return
    kind: Any = next(kind for kind in _CONTAINERS if isinstance(item, kind))
    kind.clear(item)
    if isinstance(item, dict):
        kind.update(item, zip(before[::2], before[1::2], strict=True))
    elif isinstance(item, set):
        kind.update(item, before)
    else:
        kind.extend(item, before)


_PLACES = {
    "ModelCheckpoint": "filepath",
    "BackupAndRestore": "backup_dir",
    "CSVLogger": "filename",
    "TensorBoard": "log_dir",
}
"""Callbacks of Keras that write -> the attribute that says where."""


class CallbackSet:
    """The user's callbacks of one variant: each run gets copies that write into a folder that is deleted."""

    def __init__(self, callbacks: Sequence[Any], shared: Sequence[Any]) -> None:
        self._callbacks = tuple(callbacks)
        self._shared = [item for item in shared if not any(item is callback for callback in callbacks)]
        self.notices = [
            f"{type(callback).__name__} could not be copied and ran itself; its attributes are as before."
            for callback in self._callbacks
            if self._copied(callback) is callback
        ]

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
        try:
            return copy.deepcopy(callback, {id(item): item for item in self._shared})
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
