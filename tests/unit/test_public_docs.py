"""What a user reads of each public name: it tells what it is and takes, names nothing of the inside, and its examples run."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.layers import package_modules
from tests.unit.capture.scenario import run_scenario
from tests.unit.export.duckdb_needed import needs_duckdb
from tfprof_widgets.analysis import TABLES, TreeOptions

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


MADE_BY_USERS = {"ProfileCallback", "WatchCallback", "ProfilerHook", "step", "trace_steps"}
"""Classes that a user makes objects of; all others are given."""
SELF_EVIDENT = {"allocator"}
"""One of `allocators`, which `MemoryProfile` tells for all its methods."""
OTHERS = {"Session", "StepStats", "Bookmark"}
"""Classes of TensorFlow that have a name of one of ours, and one that is told in full where it is named."""


def examples_of(told: Told, known: dict[str, Any]) -> doctest.DocTest:
    """The examples in a docstring, to be run with these names."""
    return doctest.DocTestParser().get_doctest(told.text, dict(known), told.name, None, None)


def trains(told: Told) -> bool:
    """Whether the examples need TensorFlow."""
    code = "".join(one.source for one in examples_of(told, {}).examples)
    return re.search(r"\bmodel\b|\bdataset\b|\btensorflow\b|tfprof\.serve\b", code) is not None


def parameters_of(told: Told) -> list[str]:
    """What a user may give to a function, or to make an object of a class."""
    if not callable(told.value) or (inspect.isclass(told.value) and told.name not in MADE_BY_USERS):
        return []
    given = list(inspect.signature(told.value).parameters)
    return [name for name in given if name not in ("self", "whole") and name not in SELF_EVIDENT]


def test_the_surface_is_all_that_a_user_reaches() -> None:
    names = {told.name for told in surface()}
    assert {
        "Profile.steps",
        "Advice.gain_ratio",
        "LinkModel.time_range",
        "Watch.capture",
        "MemoryProfile.summary",
    } <= names
    assert {*tfprof.__all__, *(f"experiments.{name}" for name in tfprof.experiments.__all__ if name.islower())} <= names
    assert len(classes()) > 50
    assert len(surface()) > 400


def test_each_name_is_told_in_a_sentence_first() -> None:
    first = {
        told.name: " ".join(told.text.partition("\n\n")[0].split()) for told in surface() if told.name != "experiments"
    }
    assert {name: text for name, text in first.items() if not re.match(r"[A-Z`\"].*[.:]$", text)} == {}


def test_each_argument_is_told() -> None:
    missing = {
        told.name: name
        for told in surface()
        for name in parameters_of(told)
        if not re.search(rf"(^ +{name}: |`{name}\b)", told.text, re.M)
    }
    assert missing == {}


def test_no_text_names_the_inside() -> None:
    public = {kind.__name__ for kind in classes()} | OTHERS
    for told in surface():
        text = told.text.partition("Columns:\n")[0]
        assert {name for name in re.findall(r"`([A-Z]\w+)", text) if name in package_classes()} <= public, told.name
        pattern = r"\bD\d{1,2}\b|\bsemantics\b|\w+/\w+\.py\b|\bcompute_\w+\b(?<!_ms)|\btfprof_widgets\.[a-z]+\."
        assert re.findall(pattern, text) == [], told.name


def test_what_a_text_names_is_there() -> None:
    kinds = {kind.__name__: kind for kind in classes()}
    names = {told.name for told in surface()}
    for told in surface():
        for kind, member in re.findall(r"`(\w+)\.(\w+)", told.text):
            if kind in kinds:
                assert hasattr(kinds[kind], member) or f"{kind}.{member}" in names, f"{told.name}: {kind}.{member}"


def test_tables_tell_each_column(capture_of: Callable[[str], Path]) -> None:
    prof = tfprof.load(capture_of("xla_fit"))
    assert isinstance(prof, tfprof.Profile)
    holders = [prof, prof.overview, prof.input_pipeline, prof.memory, tfprof.diff(prof, prof), tfprof.doctor()]
    found: dict[str, Any] = {
        told.name: getattr(holder, told.name.rpartition(".")[2])
        for holder in holders
        for told in surface()
        if told.name.startswith(f"{type(holder).__name__}.") and not callable(told.value)
    }
    tables = {name: value for name, value in found.items() if isinstance(value, pd.DataFrame)}
    tables |= {"recover": tfprof.recover(), "Profile.hlo_graph": prof.hlo_graph(prof.hlo_ops["name"].iloc[0])}
    tables["Scaling.frame"] = tfprof.scaling([prof, prof]).frame
    assert len(tables) > 45
    texts = {
        told.name: "\n".join(
            [told.text, *(TABLES[one].docstring for one in re.findall(r"table `([\w.]+)`", told.text))]
        )
        for told in surface()
    }
    per_device = r"(c|g)pu\d+_"  # as many as the machine has
    for name, table in tables.items():
        columns = [column for column in table.columns if not re.match(per_device, column)]
        assert [one for one in columns if not re.search(rf"`{one}`|^ +{one} \(", texts[name], re.M)] == [], name


@pytest.mark.parametrize("name", [name for name in TABLES if hasattr(tfprof.Profile, name)])
def test_help_of_a_table_says_once_what_a_row_is_and_when_there_is_none(name: str) -> None:
    row, _, told = (inspect.getdoc(getattr(tfprof.Profile, name)) or "").partition("\n\n")
    note, _, columns = told.partition("Columns:\n")
    assert row == f"A table: a row is {TABLES[name].row}."
    assert len(columns.splitlines()) == len(TABLES[name].columns)
    assert "one row" not in note.lower()
    assert ", ".join(TABLES[name].names) not in note
    assert name in ("hosts", "system") or re.search(r"\b[Ee]mpty (where|when|without|in) ", " ".join(note.split()))


@pytest.mark.parametrize("name", [name for name in TABLES if name.startswith("watch.")])
def test_tables_of_watched_trainings_tell_each_column(name: str) -> None:
    text = inspect.getdoc(getattr(tfprof.WatchedRun, name.partition(".")[2])) or ""
    assert text.startswith("A table: a row is ")
    assert all(f"    {column} (" in text for column in TABLES[name].names)


def test_code_in_a_text_is_an_example_that_is_run() -> None:
    for told in surface():
        for part in told.text.split("\n\n"):
            assert not part.startswith("    "), f"{told.name}: {part}"


@pytest.mark.parametrize("needs_sql", [False, pytest.param(True, marks=needs_duckdb)])
def test_the_examples_run_on_a_loaded_profile(
    needs_sql: bool, capture_of: Callable[[str], Path], tmp_path: Path
) -> None:
    path = capture_of("keras_fit")
    log: list[str] = []
    for told in surface():
        if ">>>" in told.text and not trains(told) and ("prof.sql" in told.text) == needs_sql:
            prof = tfprof.load(path)  # an example may observe it with what the next does not have
            known = {"tfprof": tfprof, "prof": prof, "before": prof, "after": prof, "logdir": path, "folder": tmp_path}
            found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples_of(told, known), out=log.append)
            assert found.attempted
    assert not log, "".join(log)


@pytest.mark.tensorflow
def test_the_examples_that_train_run() -> None:
    run = run_scenario("""
        import contextlib, doctest, io
        import tfprof_widgets as tfprof
        from tests.unit.test_public_docs import examples_of, surface, trains

        x, y = arrays(8)
        for told in filter(trains, surface()):
            trained = model()
            known = {"tfprof": tfprof, "model": trained, "train_step": lambda batch: trained.train_on_batch(*batch) and None,
                     "dataset": tf.data.Dataset.from_tensor_slices((x, y)).batch(8)}
            log = io.StringIO()
            with contextlib.redirect_stderr(io.StringIO()):
                doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples_of(told, known), out=log.write)
            out[told.name] = log.getvalue()
    """)
    assert {
        "profile",
        "trace_steps",
        "step",
        "ProfileCallback",
        "watch",
        "ProfilerHook",
        "experiments.ablate",
    } <= run.keys()
    assert "".join(run.values()) == ""


def test_options_are_given_by_keyword() -> None:
    for told in surface():
        if parameters_of(told):
            given = inspect.signature(told.value).parameters.values()
            options = [one for one in given if one.kind == one.POSITIONAL_OR_KEYWORD and one.default is not one.empty]
            assert len(options) <= 2, f"{told.name}: {[one.name for one in options]}"


def test_the_tree_tells_each_of_its_options() -> None:
    text = inspect.getdoc(tfprof.Profile.tree) or ""
    assert [one.name for one in fields(TreeOptions) if f"`{one.name}`" not in text] == []
