"""Functions of TensorFlow's runtime that a capture keeps until they are read: by name, so that nothing of Python is held.

A function leaves the runtime when the last object of Python that stands for it goes. TensorFlow counts these by name; what is
held counts as one more. It costs some memory of the function, and none of its variables.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_RUNTIME = "tensorflow.python.eager.polymorphic_function.atomic_function"
_MENTION = re.compile(rb'__(?:inference|forward)_[^\x00-\x1f\x7f":]{1,1000}?_\d{1,18}(?![\w])')
"""A function in the bytes of a trace; behind a name comes a tag or an end, and never a letter."""
_DATASET = "__inference_Dataset_"
"""Functions of tf.data run within iterators, and no event of the trace is called like them."""
_TRACED = re.compile(r"__(?:inference|forward)_(.+)_\d+")


class HeldFunctions:
    """The functions that one capture holds. It does nothing in a forked child, whose runtime it must not touch."""

    _n_releases = 0

    def __init__(self) -> None:
        self._keys: set[tuple[int, bytes]] = set()
        self._seen = -1, 0
        """How many functions there were at the last look, and how often captures had let go."""
        self._lock = threading.Lock()
        self._pid = os.getpid()
        _all.add(self)

    def hold(self) -> None:
        """Hold what was made since the last call; where nothing was, it costs nothing."""
        counts = _counts()
        # What captures hold stays: as many functions as then are the same ones.
        seen = -1 if counts is None else len(counts), HeldFunctions._n_releases
        if counts is None or seen == self._seen or os.getpid() != self._pid:
            return
        with self._lock:
            others = _n_holders()
            for key in set(counts) - self._keys:
                try:
                    if counts[key] == others[key]:  # gone but for other captures, which would never end
                        continue
                    counts[key] += 1
                except KeyError:  # it went just now: the garbage collector ran, or another thread
                    continue
                self._keys.add(key)
            self._seen = seen

    @property
    def names(self) -> frozenset[str] | None:
        """Names of the functions that are held; None where TensorFlow keeps no counts, so that none can be."""
        return (
            None if _counts() is None and not self._keys else frozenset(name.decode() for _, name in tuple(self._keys))
        )

    @property
    def n_bytes(self) -> int:
        """How much memory the definitions take of functions that nothing but this holds."""
        counts, context = _counts(), _context()
        if counts is None or context is None or os.getpid() != self._pid:
            return 0
        holders = _n_holders()
        alone = [key[1] for key in tuple(self._keys) if counts.get(key) == holders[key]]
        return sum(definition.ByteSize() for definition in map(definition_of, alone) if definition is not None)

    def release(self) -> None:
        """Let go of all; what nobody else holds leaves the runtime."""
        if sys.is_finalizing() or os.getpid() != self._pid:
            return
        with self._lock:
            keys, self._keys, self._seen = self._keys, set(), (-1, 0)
        HeldFunctions._n_releases += 1
        counts, context = _counts(), _context()
        if counts is None or context is None:
            return
        for key in keys & counts.keys():
            counts[key] -= 1
            if not counts[key]:
                del counts[key]
                if key[0] == context.function_scope_id:  # not of a runtime that was reset since
                    with contextlib.suppress(Exception):  # a reset one whose id is given anew; as `definition_of`
                        context.remove_function(key[1])


_all: weakref.WeakSet[HeldFunctions] = weakref.WeakSet()


def _n_holders() -> Counter[tuple[int, bytes]]:
    """How many captures hold each function."""
    return Counter(itertools.chain.from_iterable(tuple(one._keys) for one in tuple(_all)))


def mentioned_functions(files: Iterable[Path]) -> set[str]:
    """Names of functions in the bytes of traces."""
    return {name.decode("utf-8", "replace") for file in files for name in _MENTION.findall(file.read_bytes())}


def newest_number() -> int:
    """What TensorFlow has counted up to, which numbers functions and variables in the order in which they are made."""
    uid = getattr(sys.modules.get("tensorflow.python.framework.ops"), "uid", None)
    return 0 if uid is None else int(uid())


def functions_that_ran(held: frozenset[str], mentioned: set[str], children: dict[str, list[str]]) -> list[str]:
    """Names of the held functions that a trace mentions, those of tf.data, and all that they call, callers first.

    Args:
        held: the functions that there were.
        mentioned: those in the trace; where it names none that is held, all are taken: a call that began before the capture
            leaves no event.
        children: names of the functions that live ones call; of others their definitions tell.
    """
    begin = sorted(held & mentioned) or sorted(held)
    begin += sorted(name for name in held if name.startswith(_DATASET))
    found: dict[str, None] = {}
    while begin:
        name = begin.pop()
        if name not in found:
            found[name] = None
            begin += children[name] if name in children else _called_by(name)
    return list(found)


def definition_of(name: str | bytes) -> Any:
    """The FunctionDef of a function of the runtime; None where there is no such function."""
    context = _context()
    try:
        return None if context is None else context.get_function_def(name)
    except Exception:  # TensorFlow's errors of a name that is gone have several types
        return None


def debug_info_of(name: str) -> Any:
    """Where each op of a function of the runtime was made, as a GraphDebugInfo."""
    return _context().get_graph_debug_info(name)


def traced_name(name: str) -> str:
    """The name of the Python function, as its graph has it: `train_step` of `__inference_train_step_123`."""
    matched = _TRACED.fullmatch(name)
    return matched[1] if matched else name


def _called_by(name: str) -> Iterator[str]:
    definition = definition_of(name)
    for node in () if definition is None else definition.node_def:
        for value in node.attr.values():
            if value.HasField("func"):
                yield value.func.name
            elif value.HasField("list"):
                yield from (one.name for one in value.list.func)


def _counts() -> dict[tuple[int, bytes], int] | None:
    """TensorFlow's counts by context and name; None where it has none, as before it is imported, or other ones."""
    counts = getattr(sys.modules.get(_RUNTIME), "RUNTIME_FUNCTION_REFS", None)
    is_known = isinstance(counts, dict) and all(isinstance(key, tuple) for key in itertools.islice(counts, 1))
    return counts if is_known else None


def _context() -> Any:
    module = sys.modules.get("tensorflow.python.eager.context")
    return None if module is None else module.context()
