"""Names of framework ops -> name scope and role of each, with what functions, loops and graph rewriting added taken away.

TensorFlow names an op by the path of scopes it was made in. The executor sees longer names, which this undoes:

- `StatefulPartitionedCall/dense/MatMul`: the call of a function, and `replica_3/`, the copy of a model on one device;
- `lstm/while/body/_34/lstm/while/add`: a body inlined by TensorFlow repeats the path within its function;
- `gradient_tape/dense/MatMul/MatMul_1`: the gradient of an op of scope `dense/MatMul`, to which it is charged; within loops
  `gradient_tape/lstm/while/gradients/lstm/while/MatMul_grad/MatMul`;
- `dense/ArithmeticOptimizer/AddOpsRewrite_add`: an op that graph rewriting (Grappler) put in the scope of those it replaced;
- `dense/MatMul/_12`: a copy that the graph partitioner numbered.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...trace.trace import Bool
from .scope_words import OPTIMIZERS, REWRITERS

DATA_SCOPE = "tf.data"
"""The scope of tf.data iterators; `Iterator::Root::Map` lies in `tf.data/Root/Map`."""

_MOST_KNOWN = 2**15
"""So many names stay taken apart: several analyses ask for those of one trace, and hosts of one run have the same."""
_FUNCTION = re.compile(r"(Stateful)?PartitionedCall(_\d+)?|replica_\d+")
_INSTANCE = re.compile(r"_\d+")
_NUMBERED = re.compile(r"_\d+\Z")
_GRADIENT = frozenset(("gradient_tape", "gradients"))
_BODIES = frozenset(("body", "cond", "then", "else", "branch", *(f"branch{i}" for i in range(100))))
"""What TensorFlow puts, with a number below it, before the names of a loop's or condition's inlined body."""
_CONTROL_FLOW = frozenset(("cond", "while", "case", "switch_case", "training", "If", "While"))
_DATA_TYPE = re.compile(
    r"Optional(FromValue|GetValue|HasValue|None)|(Make)?Iterator\w*|OneShotIterator|\w+Dataset(V\d+)?|Dataset"
)
_APPLY = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]")
_SUM = re.compile(r"AddN(_\d+)?|SimplifyAggregation_.*")
"""As a tape calls its sums, and what Grappler makes of them."""

Scope = tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class OpScopes:
    """Where each op was made. All fields have one entry per op, in the order given."""

    name: tuple[str, ...]
    type: tuple[str, ...]
    scope: tuple[Scope, ...]
    """The components of the innermost name scope, outermost first, empty for an op outside any scope; of a gradient op that
    of the forward op. What tf.data runs is in the scope `DATA_SCOPE` and below."""
    leaf: tuple[str, ...]
    """The op's own name within its scope."""
    is_backward: Bool
    """Whether it computes a gradient."""
    is_optimizer: Bool
    """Whether it belongs to the optimizer: by its outermost scope, or because it applies gradients to a variable."""
    is_input: Bool
    """Whether tf.data runs it: an iterator, or an op of a function that is mapped over a data set."""

    def __len__(self) -> int:
        return len(self.name)

    @property
    def is_sum(self) -> Bool:
        """Whether it is one of the sums outside any scope by which a tape adds up gradients, where there are gradients."""
        sums = [
            not scope and _SUM.fullmatch(leaf) is not None for scope, leaf in zip(self.scope, self.leaf, strict=True)
        ]
        return np.array(sums, np.bool_) & self.is_backward.any()


def op_scopes(
    names: Sequence[str],
    types: Sequence[str],
    *,
    is_input: Bool | None = None,
    optimizers: frozenset[str] = frozenset(),
) -> OpScopes:
    """Find the scope and role of each op.

    Args:
        names: op names without their type; any text is allowed.
        types: op types, as many.
        is_input: which of them ran only within tf.data (`input_work.py`), where that is known; iterators are found anyway.
        optimizers: names of optimizers beyond those of TensorFlow and Keras.

    A condition around the optimizer (as loss scaling makes one, to skip steps that overflow) belongs to it, too.
    """
    known = OPTIMIZERS | {name.lower() for name in optimizers}
    given = np.zeros(len(names), np.bool_) if is_input is None else is_input
    scopes: list[Scope] = []
    leaves = []
    backward, optimizer, of_input = (np.zeros(len(names), np.bool_) for _ in range(3))
    # More names than are kept would push each other out before any of them is asked for again.
    place = _place if len(names) <= _MOST_KNOWN else _place.__wrapped__
    for i, (name, kind, within) in enumerate(
        zip(names, types, given.tolist(), strict=True)
    ):  # one turn per unique name
        if name.startswith("Iterator::"):
            scopes.append((DATA_SCOPE, *name.split("::")[1:]))
            leaves.append(name.rpartition("::")[2])
            of_input[i] = True
            continue
        scope, leaf, is_gradient = place(name)
        leaves.append(leaf)
        is_data, is_apply = _roles_of_type(kind)
        if is_gradient:
            backward[i] = True
        if within or is_data:
            of_input[i], scope = True, (DATA_SCOPE, *scope)
        elif not is_gradient and (is_apply or _is_optimizer(scope, known)):
            optimizer[i] = True
        scopes.append(scope)
    around = _conditions_around(scopes, optimizer)
    if around:
        optimizer |= np.array([scope in around for scope in scopes], np.bool_) & ~backward
    return OpScopes(tuple(names), tuple(types), tuple(scopes), tuple(leaves), backward, optimizer, of_input)


def _conditions_around(scopes: Sequence[Scope], is_optimizer: Bool) -> frozenset[Scope]:
    """Scopes of control flow alone that an optimizer's ops lie in, and those of control flow within them."""
    outer = set()
    for scope in {scopes[i] for i in np.flatnonzero(is_optimizer).tolist()}:
        first = tuple(itertools.takewhile(lambda part: without_number(part) in _CONTROL_FLOW, scope))[:1]
        outer |= {first} - {()}
    within = {scope for scope in scopes if scope[:1] in outer} if outer else ()
    return frozenset(scope for scope in within if all(without_number(part) in _CONTROL_FLOW for part in scope))


@lru_cache(maxsize=4096)
def _roles_of_type(op_type: str) -> tuple[bool, bool]:
    """Whether ops of a type are of tf.data, and whether they apply gradients."""
    return _DATA_TYPE.fullmatch(op_type) is not None, _APPLY.match(op_type) is not None


@lru_cache(_MOST_KNOWN)
def without_number(component: str) -> str:
    """A scope's name as it was asked for: TensorFlow appends `_1`, `_2`, ... to a name that is taken."""
    return _NUMBERED.sub("", component) if component[-1:].isdigit() else component


@lru_cache(_MOST_KNOWN)
def _place(name: str) -> tuple[Scope, str, bool]:
    """Scope of a name and the op's own name in it, as its function's author made them; whether it is a gradient's.

    What is in front of the last slash is walked through once for all ops that share it.
    """
    outer, _, last = name.rpartition("/")
    if not last or (last[0] == "_" and _INSTANCE.fullmatch(last)):
        parts = [part for part in name.split("/") if part]
        while len(parts) > 1 and _INSTANCE.fullmatch(parts[-1]):
            parts.pop()
        outer, last = "/".join(parts[:-1]), parts[-1] if parts else name
    walk = _walk(outer)
    return walk.scope_of(last), last, walk.is_backward


@lru_cache(_MOST_KNOWN)
def _walk(outer: str) -> _Walk:
    return _Walk(outer)


class _Walk:
    """The scope around an op, component by component, without what was added to it."""

    def __init__(self, outer: str) -> None:
        self._path = _Path()
        self.is_backward = self._is_restart = False
        for part in outer.split("/"):
            if part:
                self._pass(part)
        self.scope = tuple(self._path.parts)

    def _pass(self, part: str) -> None:
        if _is_added(part):
            if part not in REWRITERS and all(without_number(one) in _CONTROL_FLOW for one in self._path.parts):
                self._path = _Path()  # the loop that calls a function is no scope of the function's
        elif part in _GRADIENT:
            self.is_backward = self._is_restart = True
        elif self._path.parts and self._path.parts[-1] in _BODIES and _INSTANCE.fullmatch(part):
            self._path.pop()
            self._is_restart = True
        else:
            if self._is_restart:
                self._path.restart(part)
                self._is_restart = False
            if self.is_backward:
                part = _forward(part)
                self._path.fold(part)
            self._path.append(part)

    def scope_of(self, last: str) -> Scope:
        """The scope of an op of this name here: within loops its name tells where its path begins again."""
        if not self._is_restart and not (self.is_backward and self._path.folds(_forward(last))):
            return self.scope
        path = _Path()
        for part in self._path.parts:
            path.append(part)
        if self._is_restart:
            path.restart(last)
        if self.is_backward:
            path.fold(_forward(last))
        return tuple(path.parts)


@lru_cache(_MOST_KNOWN)
def _is_added(part: str) -> bool:
    """Whether a call of a function or rewriting of graphs put this into a path."""
    return part in REWRITERS or _FUNCTION.fullmatch(part) is not None


def _forward(part: str) -> str:
    return part.removesuffix("_grad") or part


class _Path:
    """Components, and where each first occurs: keeps names with many restarts linear."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._first: dict[str, int] = {}

    def append(self, part: str) -> None:
        self._first.setdefault(part, len(self.parts))
        self.parts.append(part)

    def pop(self) -> None:
        part = self.parts.pop()
        if self._first[part] == len(self.parts):
            del self._first[part]

    def restart(self, part: str) -> None:
        """Go back to where the path that now begins with `part` began before, if it did."""
        begin = self._first.get(part)
        while begin is not None and len(self.parts) > begin:
            self.pop()

    def fold(self, part: str) -> None:
        """Turn `a/b/while/a/b`, before another `while`, into `a/b`: names about the gradient of a loop repeat its own."""
        if self.folds(part):
            half = len(self.parts) // 2
            while len(self.parts) > half:
                self.pop()

    def folds(self, part: str) -> bool:
        """Whether `fold` changes anything."""
        half = len(self.parts) // 2
        return (
            half > 0
            and len(self.parts) % 2 == 1
            and self.parts[half] == part
            and without_number(part) in _CONTROL_FLOW
            and self.parts[:half] == self.parts[half + 1 :]
        )


@lru_cache(_MOST_KNOWN)
def _is_optimizer(scope: Scope, known: frozenset[str]) -> bool:
    """Whether the outermost scope that is no control flow is an optimizer's, or the update of one variable."""
    for part in scope:
        bare = without_number(part)
        if bare in _CONTROL_FLOW:
            continue
        return bare == "update" or bare.lower() in known or part.lower() in known
    return False
