"""Decorators that register programs with what is known of them, and the data that programs train on."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.nightly.diagnosis import programs

Run = Callable[[], object]
"""One run of a program: the same amount of training each time."""

MARK = "# fault"
PROGRAMS: dict[str, Program] = {}

_random = np.random.default_rng(0)


@dataclass(frozen=True)
class Program:
    """What is known of a program: written before any tool was asked about it."""

    name: str
    theme: str
    build: Callable[..., Run]
    """Of a fault: `build(fixed)`, with the fault or without; of a healthy program: `build()`."""
    cause: str = ""
    """One sentence; empty of a healthy program."""
    words: str = ""
    """A regular expression of the mechanism: a card that names the cause matches it."""
    file: str = ""
    lines: frozenset[int] = frozenset()
    """Those of the marked statements."""
    needs_line: bool = True
    """False where the place is none of its lines, such as an option, or has a name, such as a callback or a stage of tf.data."""
    n_devices: int = 1
    """Logical CPUs that it wants."""


def fault(
    cause: str, words: str, *, needs_line: bool = True, n_devices: int = 1
) -> Callable[[Callable[[bool], Run]], Callable[[bool], Run]]:
    """Register `build(fixed)`, whose statements with `# fault` are the cause."""

    def register(build: Callable[[bool], Run]) -> Callable[[bool], Run]:
        file = Path(inspect.getsourcefile(build) or "").name
        lines = marked_lines(*inspect.getsourcelines(build))
        _add(Program(build.__name__, _theme(build), build, cause, words, file, lines, needs_line, n_devices))
        return build

    return register


def healthy(build: Callable[[], Run]) -> Callable[[], Run]:
    """Register a program that has nothing to say about."""
    _add(Program(build.__name__, _theme(build), build))
    return build


def _theme(build: Callable[..., Run]) -> str:
    return build.__module__.rpartition(".")[2]


def _add(program: Program) -> None:
    if program.name in PROGRAMS:
        raise ValueError(f"Two programs are called {program.name}: rename one.")
    PROGRAMS[program.name] = program


def marked_lines(source: list[str], first: int) -> frozenset[int]:
    """Lines of the statements with a mark; of a statement with a body, only its head."""
    marks = {number for number, line in enumerate(source, 1) if line.rstrip().endswith(MARK)}
    lines = set(marks)
    for node in ast.walk(ast.parse(textwrap.dedent("".join(source)))):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            start = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
            head = set(range(start, max(end, node.lineno) + 1))
            if marks & head:
                lines |= head
    return frozenset(line + first - 1 for line in lines)


def registered() -> dict[str, Program]:
    """All programs by name; imports them, and with them TensorFlow."""
    for module in pkgutil.iter_modules(programs.__path__):
        importlib.import_module(f"{programs.__name__}.{module.name}")
    return PROGRAMS


def images(n: int, size: int, channels: int = 3, classes: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Float images between 0 and 1, and a class of each."""
    return _random.random((n, size, size, channels), dtype="float32"), _random.integers(classes, size=n)


def table(n: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of numbers, and one number to learn of each."""
    return _random.random((n, width), dtype="float32"), _random.random((n, 1), dtype="float32")


def tokens(n: int, length: int, vocabulary: int) -> np.ndarray:
    """Sequences of word numbers."""
    return _random.integers(1, vocabulary, size=(n, length)).astype("int32")


def binary(n: int, width: int = 1) -> np.ndarray:
    """Labels of 0 and 1."""
    return _random.integers(2, size=(n, width)).astype("float32")


def sentences(n: int, length: int) -> list[str]:
    """Texts of `length` words out of 2,000."""
    return [" ".join(f"word{i}" for i in row) for row in _random.integers(2000, size=(n, length))]


def write_images(folder: Path, n: int, size: int, classes: int = 2) -> Path:
    """Smooth JPEG pictures in a folder a class."""
    from PIL import Image

    for i in range(n):
        path = folder / f"class{i % classes}" / f"{i}.jpg"
        path.parent.mkdir(exist_ok=True)
        coarse = _random.integers(256, size=(8, 8, 3)).astype("uint8")
        Image.fromarray(coarse).resize((size, size)).save(path)
    return folder
