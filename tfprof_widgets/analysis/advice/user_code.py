"""The user's source -> one call in it, and its statement written anew with that call changed.

only_call(source_map, "compile", is_of_model).with_keyword("jit_compile", "True") == 'model.compile("sgd", jit_compile=True)'
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...trace.source_map import SourceMap
from .code_places import parsed, place_of
from .code_text import remark
from .fix import Fix, why_it_does_not_run

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)
"""Statements that can be pasted in place of the user's."""
_MOST_CODE = 2_000


@dataclass(frozen=True, eq=False)
class UserCall:
    """A call in the user's source."""

    place: str
    """`train.py:7`, the line of its statement."""
    call: ast.Call
    statement: ast.stmt
    text: str
    """Of the file."""
    names: frozenset[str]
    """That the statement uses, and `tf` where the program calls TensorFlow so."""

    @property
    def target(self) -> str:
        """The name that the statement gives its result; empty where it does not."""
        one = self.statement
        targets = one.targets if isinstance(one, ast.Assign) else []
        return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""

    def argument(self, name: str) -> ast.expr | None:
        """What the call is given by that name; None where it is not."""
        return next((one.value for one in self.call.keywords if one.arg == name), None)

    def with_keyword(self, name: str, value: str) -> str:
        """The statement with another argument of the call, or with a new one behind all others."""
        known = self.argument(name)
        if known is not None:
            return self._edited(_begin(known), _end(known), value)
        last = max([*map(_end, self.call.args), *(_end(one.value) for one in self.call.keywords)], default=None)
        if last is None:
            line, column = _end(self.call)
            return self._edited((line, column - 1), (line, column - 1), f"{name}={value}")
        return self._edited(last, last, f", {name}={value}")

    def followed_by(self, text: str) -> str:
        """The statement with something right behind the call."""
        return self._edited(_end(self.call), _end(self.call), text)

    def instead_of(self, first: ast.expr, last: ast.expr, text: str) -> str:
        """The statement with something in place of what is between the ends of two parts of it."""
        return self._edited(_end(first), _end(last), text)

    def _edited(self, begin: tuple[int, int], end: tuple[int, int], text: str) -> str:
        """Empty where that is no statement any more, as amid comments and brackets."""
        lines = self.text.encode().splitlines(keepends=True)  # positions are in bytes
        starts = [sum(map(len, lines[:row])) for row in range(len(lines) + 1)]
        low, high, first, last = (
            starts[line - 1] + column for line, column in (begin, end, _begin(self.statement), _end(self.statement))
        )
        data = self.text.encode()
        indent = data[starts[self.statement.lineno - 1] : first]
        padded = (indent if indent.isspace() else b"") + data[first:low] + text.encode() + data[high:last]
        code = textwrap.dedent(padded.decode())
        return "" if len(code) > _MOST_CODE or why_it_does_not_run(code, self.names) else code


def rewritten(words: str, call: UserCall | None, code: str, more: str = "") -> Fix:
    """A fix whose code stands in place of the user's statement; words alone where there is none."""
    if call is None or not code:
        return Fix(words)
    return Fix(words, f"{remark(f'in place of {call.place}')}{code}{more}", call.names)


def only_call(source_map: SourceMap | None, method: str, is_one: Callable[[ast.Call], bool]) -> UserCall | None:
    """The only call of a method in the user's files of which something holds; None where there are none or several."""
    if source_map is None:
        return None
    files = source_map.files[source_map.files["is_user"].astype(bool)]
    every = zip(files["file"].tolist(), files["text"].tolist(), strict=True)
    trees = [(path, text, tree) for path, text in every if (tree := parsed(text)) is not None]
    found = [
        (path, text, statement, call)
        for path, text, tree in trees
        for statement, call in _calls(tree, method)
        if is_one(call)
    ]
    if len(found) != 1:
        return None
    path, text, statement, call = found[0]
    if not isinstance(statement, _SIMPLE):
        return None
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    names |= {"tf"} if any(_has_tf(tree) for _, _, tree in trees) else set()
    return UserCall(place_of(source_map, path, statement.lineno), call, statement, text, frozenset(names))


def is_of_model(call: ast.Call) -> bool:
    """Whether a call of `compile` or `fit` is one of a model, not of a regular expression or an array."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    return not (isinstance(receiver, ast.Name) and receiver.id in ("re", "regex"))


def _calls(tree: ast.Module, method: str) -> Iterator[tuple[ast.stmt, ast.Call]]:
    """Calls of a method, each with the innermost statement that it is part of."""
    of_node: dict[int, ast.stmt] = {}
    for statement in (node for node in ast.walk(tree) if isinstance(node, ast.stmt)):  # outer ones first
        of_node.update((id(node), statement) for node in ast.walk(statement))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
            yield of_node[id(node)], node


def _has_tf(tree: ast.Module) -> bool:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    return any(one.name == "tensorflow" and one.asname == "tf" for node in imports for one in node.names)


def _begin(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
