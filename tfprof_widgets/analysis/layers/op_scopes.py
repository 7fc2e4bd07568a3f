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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ...trace.trace import Bool, Int32, Int64
from ..base.framework_names import CALL
from ..base.matching import dense_codes, first_of, numbered
from .jax_scopes import unwrapped
from .scope_words import OPTIMIZERS, REWRITERS

DATA_SCOPE = "tf.data"
"""The scope of tf.data iterators; `Iterator::Root::Map` lies in `tf.data/Root/Map`."""

_MOST_KNOWN = 2**15
"""So many names stay taken apart: several analyses ask for those of one trace, and hosts of one run have the same."""
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
    """Where each op was made. All fields but `scopes` have one entry per op, in the order given."""

    name: tuple[str, ...]
    type: tuple[str, ...]
    scopes: tuple[Scope, ...]
    """The scopes that ops are in, each once, in the order of their first ops: the components of a name scope, outermost
    first, empty for outside any scope. What tf.data runs is in the scope `DATA_SCOPE` and below."""
    scope_id: Int32
    """The innermost scope, a row of `scopes`; of a gradient op that of the forward op."""
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

    @cached_property
    def scope(self) -> tuple[Scope, ...]:
        """The innermost scope of each op."""
        return tuple(map(self.scopes.__getitem__, self.scope_id.tolist()))

    @cached_property
    def is_sum(self) -> Bool:
        """Whether it is one of the sums outside any scope by which a tape adds up gradients, where there are gradients."""
        found = np.zeros(len(self), np.bool_)
        if () in self.scopes and self.is_backward.any():
            rows = np.flatnonzero(self.scope_id == self.scopes.index(()))
            found[rows] = [_SUM.fullmatch(self.leaf[row]) is not None for row in rows.tolist()]
        return found


def numbered_scopes(scopes: Iterable[Scope]) -> tuple[tuple[Scope, ...], Int32]:
    """`OpScopes.scopes` and `scope_id` of the scope of each op."""
    number: dict[Scope, int] = {}
    ids = np.array([number.setdefault(scope, len(number)) for scope in scopes], np.int32)
    return tuple(number), ids


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
    roles = np.array([*map(_roles_of_type, dict.fromkeys(types))], np.bool_).reshape(-1, 2)
    is_data, is_apply = roles[numbered(types)].T
    placed = _Placed(names)
    of_input = is_data | placed.is_iterator
    if is_input is not None:
        of_input |= is_input
    placed.put_into_data(np.flatnonzero(of_input & ~placed.is_iterator))
    scopes, scope_id = placed.numbered()
    backward = placed.is_backward
    optimizer = ~of_input & ~backward
    of_optimizer = np.zeros(len(scopes), np.bool_)
    asked = np.flatnonzero(np.bincount(scope_id[optimizer], minlength=len(scopes)))
    of_optimizer[asked] = [_is_optimizer(scopes[i], known) for i in asked.tolist()]
    optimizer &= is_apply | of_optimizer[scope_id]
    around = _conditions_around(scopes, np.bincount(scope_id[optimizer], minlength=len(scopes)) > 0)
    optimizer |= around[scope_id] & ~backward
    return OpScopes(
        tuple(names), tuple(types), scopes, scope_id, tuple(placed.leaf), backward, optimizer, np.asarray(of_input)
    )


def _conditions_around(scopes: Sequence[Scope], has_optimizer: Bool) -> Bool:
    """Which scopes are of control flow alone that an optimizer's ops lie in, or within such a one."""
    outer = set()
    for i in np.flatnonzero(has_optimizer).tolist():
        first = tuple(itertools.takewhile(lambda part: without_number(part) in _CONTROL_FLOW, scopes[i]))[:1]
        outer |= {first} - {()}
    if not outer:
        return np.zeros(len(scopes), np.bool_)
    return np.array(
        [scope[:1] in outer and all(without_number(part) in _CONTROL_FLOW for part in scope) for scope in scopes],
        np.bool_,
    )


class _Placed:
    """Names, taken apart: what is in front of the last slash once for all ops that share it."""

    def __init__(self, names: Sequence[str]) -> None:
        self.leaf: list[str] = []
        number: dict[str, int] = {}
        places = []
        for outer, _, leaf in map(str.rpartition, names, itertools.repeat("/")):
            self.leaf.append(leaf)
            places.append(number.setdefault(outer, len(number)))
        self._place: Int64 = np.array(places, np.int64)
        walks = [*map(_walk, number)]
        self._scopes = [scope for scope, _, _ in walks]
        """Of all places, which may repeat."""
        self.is_backward = np.array([is_backward for _, is_backward, _ in walks], np.bool_)[self._place]
        self.is_iterator = np.fromiter(map(str.startswith, names, itertools.repeat("Iterator::")), np.bool_, len(names))
        is_own = np.array([walk is not None for _, _, walk in walks], np.bool_)[self._place] | self.is_iterator
        is_own |= np.array([leaf[:1] in "_" for leaf in self.leaf], np.bool_)  # a copy's number, or nothing
        for row in np.flatnonzero(is_own).tolist():
            place = _place_of_iterator if self.is_iterator[row] else _place
            scope, self.leaf[row], self.is_backward[row] = place(names[row])
            self._place[row] = len(self._scopes)
            self._scopes.append(scope)

    def put_into_data(self, rows: Int64) -> None:
        """Move the scopes of some ops into that of tf.data."""
        places, of_row = np.unique(self._place[rows], return_inverse=True)
        self._place[rows] = len(self._scopes) + of_row
        self._scopes += [(DATA_SCOPE, *self._scopes[place]) for place in places.tolist()]

    def numbered(self) -> tuple[tuple[Scope, ...], Int32]:
        """`OpScopes.scopes` and `scope_id`."""
        code, n = dense_codes(self._place)
        first = np.sort(first_of(code, n))
        scopes, ids = numbered_scopes(self._scopes[place] for place in self._place[first].tolist())
        of_code = np.zeros(n, np.int32)
        of_code[code[first]] = ids
        return scopes, of_code[code]


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
    scope, is_backward, walk = _walk(outer)
    return walk.scope_of(last) if walk else scope, last, is_backward


def _place_of_iterator(name: str) -> tuple[Scope, str, bool]:
    return (DATA_SCOPE, *name.split("::")[1:]), name.rpartition("::")[2], False


@lru_cache(_MOST_KNOWN)
def _walk(outer: str) -> tuple[Scope, bool, _Walk | None]:
    """The scope around an op, whether gradients are computed there, and the walk where the op's own name goes on with it."""
    if "(" in outer:  # no name of TensorFlow
        return *unwrapped(outer), None
    parts = [part for part in outer.split("/") if part]
    is_backward = parts[:1] == ["gradient_tape"]
    own = parts[is_backward:]
    if (own or not is_backward) and not any(map(_is_special, own)):  # nearly always
        return tuple(map(_forward, own)) if is_backward else tuple(own), is_backward, None
    walk = _Walk(parts)
    return walk.scope, walk.is_backward, walk if walk.asks_for_name else None


@lru_cache(_MOST_KNOWN)
def _is_special(part: str) -> bool:
    """Whether a component of a path may mean more than a scope."""
    bare = without_number(part)
    return part in _GRADIENT or part in _BODIES or bare in _CONTROL_FLOW or _is_added(part)


class _Walk:
    """The scope around an op, component by component, without what was added to it."""

    def __init__(self, parts: Sequence[str]) -> None:
        self._path = _Path()
        self.is_backward = self._is_restart = False
        for part in parts:
            self._pass(part)
        self.scope = tuple(self._path.parts)
        middle = self.scope[len(self.scope) // 2 :][:1]
        self.asks_for_name = self._is_restart or (self.is_backward and any(map(self._path.folds, middle)))
        """Whether the scope of an op here depends on its own name."""

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
        if not self._is_restart and not self._path.folds(_forward(last)):
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
    return part in REWRITERS or CALL.fullmatch(part) is not None


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


def _is_optimizer(scope: Scope, known: frozenset[str]) -> bool:
    """Whether the outermost scope that is no control flow is an optimizer's, or the update of one variable."""
    for part in scope:
        bare = without_number(part)
        if bare in _CONTROL_FLOW:
            continue
        return bare == "update" or bare.lower() in known or part.lower() in known
    return False
