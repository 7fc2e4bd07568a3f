"""The public names -> all that a user reaches from them: classes, members and fields with their docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache, cached_property
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import tfprof_widgets as tfprof
from tests.layers import package_modules

OF_THE_PACKAGE = {
    *(
        "Watch.begin",
        "Watch.show",
        "Watch.finish",
        "WatchedRun.log",
        "LiveView.push",
        "LiveView.close",
        "LinkModel.use",
    ),
    *("MemoryProfile.snapshots", "MemoryProfile.strings", "MemoryProfile.event_step", "MemoryProfile.step_spans"),
    *("ReducedMemory.place", "ReducedMemory.peaks", "ReducedMemory.held", "ReducedMemory.by_op"),
    *("Selection.results", "Trace.stats", "Trace.nesting", "Trace.keyed_stats", "CaptureSummary.failure"),
    *("Pipelines.bottleneck_pipeline", "CaptureDialog.shown_data"),
}
"""Members that the package calls itself: a user gets the same from others, and what they give is not walked."""
_HOOKS = re.compile(r"(on_(train|test|predict|epoch)|begin$|end$|after_|before_|make_figure$|shown_data$|use$)")
"""Of Keras, of TensorFlow and of the widgets: called by those."""


class Told(NamedTuple):
    """One thing that a user can name."""

    name: str
    """Such as `Profile.select`."""
    value: Any
    """The function, property, class or module; None for a field."""
    text: str
    """Its docstring, empty without one."""


@cache
def classes() -> tuple[type, ...]:
    """The public classes, and those that their members and the public functions give, and so on."""
    waiting = [value for _, value in _names()]
    found: dict[type, None] = {}
    while waiting:
        value = waiting.pop()
        if isinstance(value, ModuleType):
            continue
        if not inspect.isclass(value):
            waiting += _classes_in(_returned(value))
        elif value not in found:
            found[value] = None
            waiting += [member for _, member in _members(value)]
            waiting += [one for _, text in _fields(value) for one in _classes_in(text)]
    return tuple(sorted(found, key=lambda kind: kind.__name__))


@cache
def surface() -> tuple[Told, ...]:
    """All that is told: the names of the package, the classes, their members and their fields."""
    return tuple(_surface())


def _surface() -> Iterator[Told]:
    for name, value in _names():
        if not inspect.isclass(value):
            yield Told(name, value, inspect.getdoc(value) or "")
    for kind in classes():
        yield Told(kind.__name__, kind, inspect.cleandoc(kind.__doc__ or ""))
        for name, value in _members(kind):
            yield Told(name, value, inspect.getdoc(value) or "")
        for name, _ in _fields(kind):
            yield Told(name, None, _docs_of_fields(kind).get(name.rpartition(".")[2], ""))


def _names() -> list[tuple[str, Any]]:
    own = [(name, getattr(tfprof, name)) for name in tfprof.__all__]
    return own + [(f"experiments.{name}", getattr(tfprof.experiments, name)) for name in tfprof.experiments.__all__]


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that this package defines, not those of ipywidgets, Keras and TensorFlow."""
    for name in dir(kind):
        owner = next((base for base in kind.__mro__ if name in vars(base)), object)
        value = vars(owner).get(name)
        is_told = inspect.isfunction(value) or isinstance(value, (property, cached_property))
        is_told = is_told and f"{owner.__name__}.{name}" not in OF_THE_PACKAGE
        if is_told and _is_own(owner) and not name.startswith("_") and not _HOOKS.match(name):
            yield f"{kind.__name__}.{name}", value


def _fields(kind: type) -> Iterator[tuple[str, str]]:
    """The public fields and traits with their annotations: of a dataclass all, else those that the class itself declares."""
    for base in kind.__mro__[::-1]:
        if _is_own(base) and (base is kind or is_dataclass(base)):
            for node in _declaration(base).body:
                name = _field_name(node)
                if name and name[0] != "_" and f"{kind.__name__}.{name}" not in OF_THE_PACKAGE:
                    yield (
                        f"{kind.__name__}.{name}",
                        ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else "",
                    )


@cache
def _docs_of_fields(kind: type) -> dict[str, str]:
    """From each field, also of what a dataclass derives from, to the text below it."""
    found = {}
    for base in kind.__mro__[::-1]:
        for node, below in pairwise(_declaration(base).body) if _is_own(base) else ():
            name = _field_name(node)
            if name and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                found[name] = inspect.cleandoc(str(below.value.value))
    return found


def _field_name(node: ast.stmt) -> str:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return "" if "ClassVar" in ast.unparse(node.annotation) else node.target.id
    is_trait = isinstance(node, ast.Assign) and "tag(sync" in ast.unparse(node.value)
    return ast.unparse(node.targets[0]) if is_trait and isinstance(node, ast.Assign) else ""


@cache
def _module_tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(import_module(module)))


@cache
def _declaration(kind: type) -> ast.ClassDef:
    tree = _module_tree(kind.__module__)
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)


def _is_own(kind: type) -> bool:
    return kind.__module__.startswith("tfprof_widgets")


@cache
def package_classes() -> dict[str, str]:
    """Each class of the package -> its module; a name that several have is left out."""
    found: dict[str, list[str]] = {}
    for path, source in package_modules().items():
        for name in re.findall(r"^class (\w+)", source, re.MULTILINE):
            found.setdefault(name, []).append(".".join(("tfprof_widgets", *path.with_suffix("").parts)))
    return {name: homes[0] for name, homes in found.items() if len(homes) == 1}


def _returned(value: Any) -> str:
    function = getattr(value, "fget", None) or getattr(value, "func", None) or value
    return str(getattr(inspect.unwrap(function), "__annotations__", {}).get("return", ""))


def _classes_in(annotation: str) -> list[type]:
    names = [name for name in re.findall(r"(?<![.\w])[A-Z]\w+", annotation) if name in package_classes()]
    return [getattr(import_module(package_classes()[name]), name) for name in names]
