"""A text of the user's -> its calls of layer classes, with the arguments that are written as constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

MAX_ITEMS = 16
"""How long a tuple may be to count as written out: sizes of kernels are, vocabularies are not."""


class _Unknown:
    """The value of an argument that is not written as a constant."""


UNKNOWN = _Unknown()
ACTIVATIONS = frozenset(
    ("relu", "tanh", "sigmoid", "softmax", "gelu", "elu", "selu", "linear", "softplus", "exponential")
)
"""Functions of Keras whose name is the text that stands for them; others have several names."""

_SIMPLE = (int, float, str, bool)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Call:
    """One call of a class by its name."""

    file: str
    line: int
    positional: tuple[Any, ...]
    keywords: dict[str, Any]
    is_open: bool
    """Whether it has `*args` or `**kwargs`, so that any argument may be among them."""
    function_line: int = 0
    """Where the function around it begins, 0 for none: two functions that make a model each are told apart."""
    is_repeated: bool = False
    """Whether a loop or comprehension is around it, within its function."""


@dataclass(frozen=True)
class Wanted:
    """Names whose calls are looked for."""

    classes: set[str]
    models: set[str]

    def __contains__(self, name: str) -> bool:
        return name in self.classes or any(makes(name, model) for model in self.models)


def plain(name: str) -> str:
    """A name without what naming styles differ in."""
    return name.replace("_", "").lower()


def makes(name: str, model: str) -> bool:
    """Whether a function of that name may have made the model: `MobileNetV2` makes `mobilenetv2_1.00_224`."""
    return len(name) >= 4 and model.startswith(plain(name))


def simple(value: Any) -> Any:
    """A value as it can stand in source code, or `UNKNOWN`. Runs no code of the value's."""
    kind = type(value)  # not isinstance(), which asks an object of the user's for its __class__
    if kind in _SIMPLE:
        return value
    if kind in (tuple, list) and len(value) <= MAX_ITEMS and all(type(item) in _SIMPLE for item in value):
        return tuple(value)
    # Keras keeps `activation="relu"` as the function.
    return value.__name__ if kind is FunctionType and value.__name__ in ACTIVATIONS else UNKNOWN


def calls_of(text: str, file: str, wanted: Wanted) -> list[tuple[str, Call]]:
    """Calls of what is wanted in one text, in the order of the text."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    nodes = list(_walk(tree))
    aliases = {
        alias.asname: alias.name
        for node, *_ in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    found = []
    for node, function_line, is_repeated in nodes:
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            name = aliases.get(name, name)
            if name in wanted:
                found.append((name, _call(node, file, function_line, is_repeated=is_repeated)))
    return sorted(found, key=lambda pair: pair[1].line)


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, int, bool]]:
    """All nodes, with the line of the function around each and whether a loop of that function is around it too."""
    stack: list[tuple[ast.AST, int, bool]] = [(tree, 0, False)]
    while stack:
        node, function_line, is_repeated = stack.pop()
        yield node, function_line, is_repeated
        if isinstance(node, _FUNCTIONS):
            function_line, is_repeated = node.lineno, False
        is_repeated |= isinstance(node, _LOOPS)
        stack.extend((child, function_line, is_repeated) for child in ast.iter_child_nodes(node))


def _call(node: ast.Call, file: str, function_line: int, *, is_repeated: bool) -> Call:
    is_open = any(isinstance(argument, ast.Starred) for argument in node.args)
    is_open |= any(keyword.arg is None for keyword in node.keywords)
    return Call(
        file=file,
        line=node.lineno,
        positional=() if is_open else tuple(_constant(argument) for argument in node.args),
        keywords={keyword.arg: _constant(keyword.value) for keyword in node.keywords if keyword.arg is not None},
        is_open=is_open,
        function_line=function_line,
        is_repeated=is_repeated,
    )


def _constant(node: ast.expr) -> Any:
    try:
        return simple(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return UNKNOWN
