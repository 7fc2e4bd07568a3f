"""Names of two runs -> which name of one is which of the other, although TensorFlow numbered them differently.

Names are paths. Where two runs number things alike, their paths are equal. A model built a second time in one process has
`dense_3` for `dense`, and a function traced again has another `__inference_train_123`. So components are compared level by
level without their numbers; those that are then alike, below one pair, are siblings:

1. Where the numbers of one run's siblings are all among those of the other's, equal numbers are the pairs.
2. Else they are pairs in the order of their numbers; where one run has more, those are left over without which the costs
   of the others are most alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ...trace.trace import Float64, Int64

MAX_DEPTH = 64
"""Deeper components count as one."""
MAX_SIBLINGS = 200
"""More siblings than this are paired by equal numbers alone: comparing their costs would take too long."""
_NUMBER = re.compile(r"\d+")
_COUNTER = re.compile(r"(?:_\d+)+\Z|(?<=\]):\d+\Z|:\d+\Z")
_FUNCTION = re.compile(r"__(?:inference|forward|backward)_.+?_\d+(?=\Z|_)")

Path = tuple[str, ...]


@lru_cache(maxsize=65536)
def without_counters(component: str) -> tuple[str, tuple[int, ...]]:
    """A component without the numbers that TensorFlow appends, and these: `dense_1_2` is `dense` and `(1, 2)`."""
    numbers: list[str] = []

    def taken(match: re.Match[str]) -> str:
        numbers.extend(_NUMBER.findall(match.group()[match.group().rfind("_") :]))
        return match.group()[: match.group().rfind("_")]

    bare = _FUNCTION.sub(taken, component)
    end = _COUNTER.search(bare)
    if end:
        numbers += _NUMBER.findall(end.group())
        bare = bare[: end.start()]
    return bare, tuple(int(number[:18]) for number in numbers)


@dataclass
class _Node:
    """What begins with one path."""

    children: dict[tuple[str, bool], dict[str, _Node]] = field(default_factory=dict)
    """By the bare component, and whether something ends there, the children by full component."""
    cost: float = 0.0
    row: int = -1

    def add(self, path: Path, row: int, cost: float) -> None:
        """Add a name; `path` is not empty, and none was added before."""
        node = self
        node.cost += cost
        for depth, part in enumerate(path):  # at most MAX_DEPTH turns
            siblings = node.children.setdefault((without_counters(part)[0], depth == len(path) - 1), {})
            node = siblings.setdefault(part, _Node())
            node.cost += cost
        node.row = row


def pair_names(a: Sequence[Path], b: Sequence[Path], cost_a: Float64, cost_b: Float64) -> Int64:
    """Pair the names of two runs; each is in one pair at most.

    Args:
        a: the names of one run, all different, as paths of components; none is the empty path.
        b: those of the other.
        cost_a: what each costs, to tell which of several is one too many.
        cost_b: the same of `b`.

    Returns:
        For each name of `a` the row of `b` that it is, -1 for none.
    """
    if list(a) == list(b):
        return np.arange(len(a))
    found = np.full(len(a), -1, np.int64)
    waiting = [(_tree(a, cost_a), _tree(b, cost_b))]
    while waiting:  # one turn per pair of nodes
        one, other = waiting.pop()
        if one.row >= 0 and other.row >= 0:
            found[one.row] = other.row
        for key, siblings in one.children.items():
            if key in other.children:
                waiting += _pairs(siblings, other.children[key])
    return found


def _tree(names: Sequence[Path], cost: Float64) -> _Node:
    root = _Node()
    for row, (path, one) in enumerate(zip(names, cost.tolist(), strict=True)):
        if len(path) > MAX_DEPTH:
            path = (*path[: MAX_DEPTH - 1], "/".join(path[MAX_DEPTH - 1 :]))
        root.add(path, row, one)
    return root


def _pairs(a: dict[str, _Node], b: dict[str, _Node]) -> list[tuple[_Node, _Node]]:
    if a.keys() <= b.keys() or b.keys() <= a.keys() or max(len(a), len(b)) > MAX_SIBLINGS:
        return [(a[name], b[name]) for name in a.keys() & b.keys()]
    first, second = (sorted(side, key=lambda name: (without_counters(name)[1], name)) for side in (a, b))
    if len(first) == len(second):
        return [(a[one], b[other]) for one, other in zip(first, second, strict=True)]
    short, long = ([a[name] for name in first], [b[name] for name in second])
    is_swapped = len(short) > len(long)
    if is_swapped:
        short, long = long, short
    chosen = zip(short, (long[j] for j in _alike([n.cost for n in short], [n.cost for n in long])), strict=True)
    return [(y, x) if is_swapped else (x, y) for x, y in chosen]


def _alike(short: list[float], long: list[float]) -> list[int]:
    """Which of the longer list, in order, are most like the shorter one; at most `MAX_SIBLINGS` each.

    Of several choices that cost the same the earliest entries are taken.
    """
    spare = len(long) - len(short)
    least = [[0.0] * (spare + 1)]  # least[i][s]: the first i of the short list paired, s of the long one left out
    for i, one in enumerate(short):
        row: list[float] = []
        for s in range(spare + 1):
            paired = least[i][s] + abs(math.log((one + 1e-9) / (long[i + s] + 1e-9)))
            row.append(min(paired, row[-1]) if row else paired)
        least.append(row)
    chosen, s = [0] * len(short), spare
    for i in range(len(short) - 1, -1, -1):
        while s and least[i + 1][s - 1] <= least[i + 1][s]:
            s -= 1
        chosen[i] = i + s
    return chosen
