"""Paths of scopes as JAX writes them -> the scopes that the program names, and whether gradients are computed there.

JAX wraps what it transforms: `transpose(jvp(loss))/dense/dot_general` is of the gradient of `loss/dense`, `dense/jit(relu)/max`
an op of `dense` in a function of JAX's own.
"""

from __future__ import annotations

import re

_WRAPPED = re.compile(r"(\w+)\((.*)\)")
_FUNCTIONS = frozenset(("jit", "pjit", "pmap"))
"""What stands around the name of a function, which is no scope."""
_GRADIENT = "transpose"


def unwrapped(outer: str) -> tuple[tuple[str, ...], bool]:
    """The scopes of a path, and whether it is of gradients."""
    scopes, is_backward = [], False
    for part in outer.split("/"):
        while wrapped := _WRAPPED.fullmatch(part):
            is_backward |= wrapped[1] == _GRADIENT
            part = "" if wrapped[1] in _FUNCTIONS else wrapped[2]
        if part:
            scopes.append(part)
    return tuple(scopes), is_backward
