"""C++ signatures of kernels -> names short enough for a report; the kernel table in the browser names them the same way."""

from __future__ import annotations

import re

_VOID = re.compile(r"^(?:static |inline |__global__ )*void ")
_NAMESPACE = re.compile(r"(?:\b[A-Za-z_]\w*|\(anonymous namespace\))::")
_TEMPLATE = re.compile(r"(\w+)<")
_TENSOR = re.compile(r"\bTensor<([\w ]+?)(?: const)?,")
_WORD = re.compile(r"^scalar_|^Tensor|_op$|Op$")
_SCAFFOLD = frozenset(
    (
        *("EigenMetaKernel", "TensorEvaluator", "TensorAssignOp", "TensorMap", "Tensor", "TensorForcedEvalOp", "array"),
        *("TensorCwiseUnaryOp", "TensorCwiseBinaryOp", "TensorCwiseNullaryOp", "TensorCwiseTernaryOp"),
        *("DSizes", "Sizes"),
    )
)
"""Templates of Eigen that say how a kernel is built, not what it computes."""
_MOST_READ = 4_000
"""Characters of a signature that are looked at."""


def readable_kernel(signature: str) -> str:
    """Without return type, arguments and namespaces; one of Eigen as what it computes, such as `Eigen conversion (half)`."""
    name = _without_arguments(_VOID.sub("", signature[:_MOST_READ]))
    bare = _NAMESPACE.sub("", name).replace("> >", ">>")
    if bare.startswith("EigenMetaKernel<"):
        return _eigen_kernel(bare) or bare
    return bare.strip() or signature


def _without_arguments(name: str) -> str:
    """Up to the parenthesis outside all angle brackets that opens the arguments."""
    depth = 0
    for i, letter in enumerate(name):
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth -= 1
        elif letter == "(" and depth == 0 and i and not name.startswith("(anonymous namespace)", i):
            return name[:i]
    return name


def _eigen_kernel(bare: str) -> str:
    words = dict.fromkeys(_WORD.sub("", one) for one in _TEMPLATE.findall(bare) if one not in _SCAFFOLD)
    words.pop("", None)
    output, *inputs = _TENSOR.findall(bare) or [""]
    if not words or not output:
        return ""
    taken = ", ".join(dict.fromkeys(inputs))
    shape = f"{taken} → {output}" if taken and taken != output else output
    return f"Eigen {' '.join(words)} ({shape})"
