"""What a user reads of each public name: it tells what it is and takes, names nothing of the inside, and its examples run."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.public_surface import Told, classes, package_classes, surface
from tests.unit.capture.scenario import run_scenario
from tests.unit.export.duckdb_needed import needs_duckdb
from tfprof_widgets.analysis import TABLES, TreeOptions

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
    texts = {told.name: told.text for told in surface()}
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
