"""kept: a model, its callbacks and the process's random state -> all of it noted, and later put back bit for bit."""

from __future__ import annotations

import collections
import contextlib
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from ..session.shield import run_shielded
from .reach import Reached, is_keras

T = TypeVar("T")

_OF_WRAPPERS = ("_self_last_wrapped_dict_snapshot", "_self_external_modification", "_self_non_string_key")
"""What TensorFlow's wrapper around a dict knows of it: after a change behind its back it refuses to save a checkpoint."""


def run_preserved(action: Callable[[Kept], T], *roots: Any) -> T:
    """Run `action` and put back what it changed in what `roots` reach and in the process's random state, however it ended.

    Args:
        action: gets the `Kept`.
        roots: models, callbacks, data sets.
    """
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
