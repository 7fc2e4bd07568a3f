"""The name of a tf.data iterator -> what it is, and whether its time is work."""

from __future__ import annotations

import re

ASYNC_STAGES = ("Prefetch", "ParallelInterleave", "ParallelMap", "MapAndBatch", "ParseExample", "ParallelBatch")
"""What makes its elements ahead, on threads of its own."""
ASYNC_ITERATORS = frozenset((*ASYNC_STAGES, "DataService", "LegacyParallelInterleave"))
WRAPPERS = frozenset(("Root", "Model"))
"""What tf.data itself puts around a pipeline: it hands on what the iterator below it made."""
_VERSION = re.compile(r"V\d+\Z")
_INPUT = re.compile(r"\[\d+\]\Z")


def base_name(name: str) -> str:
    """A short name without its version: `ParallelMapV2` is a `ParallelMap`."""
    return _VERSION.sub("", name)


def only_waits(name: str, kind: str) -> bool:
    """Whether the self time of an op is waiting, not work.

    A call of an asynchronous iterator takes an element that threads of that iterator made, or waits for one; what they do has
    names of its own.
    """
    if kind != "Dataset":
        return False
    last = _INPUT.sub("", name.rpartition("::")[2])
    return base_name(last) in ASYNC_ITERATORS
