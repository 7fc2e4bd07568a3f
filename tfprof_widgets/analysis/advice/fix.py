"""What to do about a finding: words, and code where it runs as it is pasted, with names that the user's program has."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_BUILTIN = frozenset(dir(builtins))


@dataclass(frozen=True)
class Fix:
    """What to do: of an `Advice`. `str` gives both, the words first.

    Raises:
        ValueError: with code that has no words, or would not run as it is.
    """

    words: str = ""
    """In a sentence or two, empty where nothing is known to do; where pasted code would change what is trained, what changes."""
    code: str = ""
    """Statements that run as they are; empty where words alone say it."""
    names: frozenset[str] = frozenset()
    """Names of the user's program that the code uses."""

    def __post_init__(self) -> None:
        wrong = why_it_does_not_run(self.code, self.names) if self.code else ""
        if wrong or (self.code and not self.words):
            raise ValueError(f"{wrong or 'its code has no words'}: {self.words!r} {self.code!r}")

    def also(self, words: str) -> Fix:
        """The same with another sentence.

        Args:
            words: the sentence.
        """
        return Fix(f"{self.words} {words}", self.code, self.names)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.words, self.code)))


def why_it_does_not_run(code: str, known: Iterable[str]) -> str:
    """Why code could not be pasted into a program that has some names; empty where it can."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no Python: {error}"
    if not tree.body:
        return "it has comments alone"
    indices = {
        id(inner) for node in ast.walk(tree) if isinstance(node, ast.Subscript) for inner in ast.walk(node.slice)
    }
    if any(isinstance(node, ast.Constant) and node.value is ... and id(node) not in indices for node in ast.walk(tree)):
        return "it has ... in place of code"
    unknown = sorted(set(_unknown_names(tree, {*known, *_BUILTIN})))
    return f"nobody knows {', '.join(unknown)} in it" if unknown else ""


def _unknown_names(tree: ast.Module, known: set[str]) -> Iterator[str]:
    """Names that a statement reads before one made them; those of its own functions and loops are its own."""
    for statement in tree.body:
        nodes = [*ast.walk(statement)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        loops = [node.target for node in nodes if isinstance(node, (ast.comprehension, ast.For))]
        own = {node.arg for node in nodes if isinstance(node, ast.arg)}
        own |= {node.id for loop in loops for node in ast.walk(loop) if isinstance(node, ast.Name)}
        yield from (one.id for one in names if isinstance(one.ctx, ast.Load) and one.id not in known | own)
        known |= {one.id for one in names if isinstance(one.ctx, ast.Store)}
        known |= {
            (one.asname or one.name).partition(".")[0]
            for node in nodes
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for one in node.names
        }
