"""Name scopes -> the Keras layer that each op belongs to, by the layers of the live models or, without them, by rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Int32, UInt8
from ..base.frame_places import COPIES, GRADIENT_SUMS, KERAS, PROGRAM_ENDS
from ..base.matching import dense_codes, first_of
from ..ops.eager_calls import EAGER_SCOPE
from .op_scopes import DATA_SCOPE, OpScopes, without_number
from .scope_words import AMBIGUOUS, FUNCTIONS, LOSSES, METRICS, OPS, TWINS, VENDOR

UNATTRIBUTED = "not in a layer"
"""The entry of ops that no layer, loss, metric, optimizer or input pipeline made, as far as their names tell."""


MAX_KNOWN_DEPTH = 1_000
MAX_DEPTH = 100
"""Known layers, and layers told from scopes, are not looked for deeper than this."""
_PARTS = (COPIES, PROGRAM_ENDS, GRADIENT_SUMS, KERAS)
ROLES = ("", "optimizer", "metrics", "loss", *_PARTS)
"""What a traceback or its type may tell that an op is for; the names of the entries of such ops, but for optimizers with a
name. Those of `_PARTS` are no kinds of entries."""
ANY_OPTIMIZER = "optimizer"
"""The entry of ops of an optimizer whose name they do not tell."""
_Entry = tuple[str, str, str]
"""Name, class and kind."""


@dataclass(frozen=True, eq=False, repr=False)
class Places:
    """Entry of each op, a row of the other fields; the last entry is `UNATTRIBUTED`."""

    entry: Int32
    layer: tuple[str, ...]
    class_name: tuple[str, ...]
    kind: tuple[str, ...]
    """`layer`, `loss`, `metrics`, `optimizer`, `input` or `other`."""


@dataclass(frozen=True)
class KnownLayers:
    """The layers of the models that were alive when the capture ended."""

    class_of: dict[str, str]
    """Class of each layer by its path of names, such as `model/block/dense`."""
    path_of: dict[str, str]
    """By a layer's own name the first of its paths."""
    optimizers: dict[str, str]
    """Class of each optimizer by its name."""

    @classmethod
    def read(cls, layers: pd.DataFrame) -> KnownLayers:
        """From the `layers` table of a source map (`layer, name, class_name, model`); it may be empty.

        A row whose `layer` is "" is the optimizer of its model.
        """
        class_of: dict[str, str] = {}
        path_of: dict[str, str] = {}
        optimizers: dict[str, str] = {}
        for path, name, class_name in zip(layers["layer"], layers["name"], layers["class_name"], strict=True):
            if not path:
                optimizers.setdefault(name, class_name)
                continue
            class_of.setdefault(path, class_name)
            path_of.setdefault(name, path)
        return cls(class_of, path_of, optimizers)

    def find(self, scope: tuple[str, ...]) -> tuple[str, str]:
        """The innermost layer whose scope this is or lies in: its path as it was called, and its class; "" for none.

        Keras 3 enters a layer's scope twice per call, to build and to call it, so that the ops of the first call of
        `dense` are in `dense_1` (and those of the second in `dense_3`), whereas those of the layer `dense_1` are in
        `dense_1_1` or later. A number at the end is therefore taken away first. A scope of a layer's exact name counts
        only where that layer is a part of the one around it.
        """
        called = path = around = ""
        if not self.class_of:
            return "", ""
        for part in scope[:MAX_KNOWN_DEPTH]:
            bare = without_number(part)
            inner = [f"{path}/{name}" if path else name for name in (bare, part)]
            if inner[0] in self.class_of or inner[1] in self.class_of:
                path = inner[0] if inner[0] in self.class_of else inner[1]
                called = f"{called}/{path.rpartition('/')[2]}" if called else path
            elif bare != part and bare in self.path_of and bare not in AMBIGUOUS and bare != around:
                path = self.path_of[bare]  # called where it is no part
                called = f"{called}/{bare}" if called else bare
            around = bare
        return called, self.class_of[path] if called else ""


def find_layers(scopes: OpScopes, known: KnownLayers, *, roles: UInt8 | None = None) -> Places:
    """Attribute each op to exactly one entry.

    An iterator belongs to the input, an op of the optimizer to it, and any other to the innermost layer whose scope it lies
    in. Layers called several times are one entry, under the names the user gave (`model/block/dense`). Where the scopes name
    no known layer (a loaded trace, a model that is gone, a `tf.Module`) a scope counts as a layer when neither an op of the
    trace has its name nor TensorFlow's own functions open it (`moments`, `while`, `Tensordot`), nor anything inside such a
    scope; its entry is then the path as it is in the trace, numbers included, and its class is "".

    Args:
        scopes: the scope of each op.
        known: the layers there were; may be none.
        roles: for each op what `traced_roles` found that it is for, an index into `ROLES`; it decides about ops in no layer.
    """
    inferred = _Inference(scopes)
    number: dict[_Entry, int] = {}
    of_role = roles if roles is not None else np.zeros(len(scopes), np.uint8)
    kind, n_kinds = dense_codes(
        scopes.scope_id, scopes.is_optimizer.astype(np.uint8), scopes.is_input.astype(np.uint8), of_role
    )
    first = np.sort(first_of(kind, n_kinds))
    columns = (scopes.scope_id, of_role, scopes.is_optimizer, scopes.is_input)
    entries = []
    for scope, of, *flags in zip(*(column[first].tolist() for column in columns), strict=True):  # one turn per scope
        role, found = ROLES[of], _entry(scopes.scopes[scope], known, inferred, *flags)
        if role and found[2] == "other":
            found = (role, "", "other" if role in _PARTS else role)
        entries.append(number.setdefault(found, len(number)))
    entry_of = np.zeros(n_kinds, np.int32)
    entry_of[kind[first]] = entries
    return _ordered(entry_of[kind], _with_one_optimizer(tuple(number)))


def _with_one_optimizer(found: tuple[_Entry, ...]) -> tuple[_Entry, ...]:
    """Give what belongs to some optimizer to the only one there is."""
    named = [row for row in found if row[2] == "optimizer" and row[0] != ANY_OPTIMIZER]
    if len(named) != 1:
        return found
    return tuple(named[0] if row[0] == ANY_OPTIMIZER and row[2] == "optimizer" else row for row in found)


def _ordered(entry: Int32, found: tuple[_Entry, ...]) -> Places:
    """Put `UNATTRIBUTED` last, present or not."""
    last = (UNATTRIBUTED, "", "other")
    rows = [*dict.fromkeys(row for row in found if row != last), last]
    place = {row: i for i, row in enumerate(rows)}
    renumber = np.array([place[row] for row in found], np.int32)
    columns = zip(*rows, strict=True)
    layer, class_name, kind = (tuple(column) for column in columns)
    return Places(renumber[entry] if len(found) else entry, layer, class_name, kind)


def _entry(
    scope: tuple[str, ...], known: KnownLayers, inferred: _Inference, is_optimizer: bool, is_input: bool, /
) -> _Entry:
    """Name, class and kind of the entry of a scope."""
    if is_input:
        return DATA_SCOPE, "", "input"
    if is_optimizer:
        name = next((part for part in scope if not _is_internal(part)), ANY_OPTIMIZER)
        name = name if name in known.optimizers else without_number(name)
        return name, known.optimizers.get(name, ""), "optimizer"
    root = without_number(scope[0]) if scope else ""
    if (root in LOSSES or root in METRICS) and root not in known.path_of:
        kind = "metrics" if root in METRICS else "loss"
        return "/".join(inferred.outer(scope)) or root, "", kind
    called, class_name = known.find(scope)
    if called:
        return called, class_name, "layer"
    if scope == (EAGER_SCOPE.rstrip("/"),):  # our own name for ops that have none
        return UNATTRIBUTED, "", "other"
    layer = inferred.outer(scope)
    return ("/".join(layer), "", "layer") if layer else (UNATTRIBUTED, "", "other")


class _Inference:
    """Which scopes are no op and no function of TensorFlow's own."""

    def __init__(self, scopes: OpScopes) -> None:
        self._types = OPS | {VENDOR.sub("", kind, count=1) for kind in frozenset(scopes.type)}
        forward = np.flatnonzero(~scopes.is_backward)
        self._leaves = frozenset(scopes.leaf)
        self._ops: dict[tuple[str, ...], set[str]] = {}
        """The ops of each scope but those that compute gradients."""
        for scope, row in zip(scopes.scope_id[forward].tolist(), forward.tolist(), strict=True):
            self._ops.setdefault(scopes.scopes[scope], set()).add(scopes.leaf[row])

    def outer(self, scope: tuple[str, ...]) -> tuple[str, ...]:
        """The outer components, up to the first that is an op or opened by one of TensorFlow's functions."""
        for n, part in enumerate(scope[:MAX_DEPTH]):
            bare = without_number(part)
            is_op = bare in self._types or (part in self._leaves and part in self._ops.get(scope[:n], ()))
            is_twin = bare in TWINS and n > 0 and without_number(scope[n - 1]) == bare
            if is_op or is_twin or bare in FUNCTIONS:
                return scope[:n]
        return scope[:MAX_DEPTH]


def _is_internal(part: str) -> bool:
    return without_number(part) in FUNCTIONS
