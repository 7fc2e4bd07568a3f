"""Fixes pasted into real programs -> they run, and train on the same elements in the same order, random ones as random."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.advice.pasted import PIPELINES, capture_all, pasted, run_all, text_of
from tfprof_widgets.analysis import STAGES, Fix, Run, input_rules, why_it_does_not_run
from tfprof_widgets.analysis import run as call_fixes

PACKAGE = Path(input_rules.__file__).parent
OF_USER = {"rewritten", "_prefetch"}
"""What makes fixes with names of the user's, and what calls that."""
CALLS_IT = {"input_rules._parallel", "input_rules.cheaper_map", "input_rules._of_stage", "run._compiled_with"}


def every_fix(run: Run) -> Iterator[tuple[str, Fix]]:
    """All that can be advised with code of the user's, whatever is slow, by name."""
    data = run.results.tf_data
    pipelines = [row for _, row in data.pipelines.iterrows()]
    for pipeline in pipelines:
        for stage in STAGES:
            yield stage, input_rules.input_fix(run, stage, pipeline)
        for row in np.flatnonzero(data.iterators["pipeline"] == pipeline["id"]).tolist():
            told = pipeline.copy()
            told["bottleneck"] = row
            yield "sequential_stage", input_rules.input_fix(run, "sequential_stage", told)
    yield "cheaper_map", input_rules.cheaper_map(run)
    yield "without_python", input_rules.without_python(run)
    yield "several_in_one_call", call_fixes.several_in_one_call(run)
    yield "compiled", call_fixes.compiled(run)


def test_what_makes_code_of_the_user_s_statements_is_looked_at_here() -> None:
    found = set()
    for path in PACKAGE.glob("*.py"):
        for function in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)):
            calls = [
                node for node in ast.walk(function) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            ]
            if any(call.func.id == "rewritten" for call in calls):  # type: ignore[attr-defined]
                found.add(f"{path.stem}.{function.name}")
            with_names = [call for call in calls if call.func.id == "Fix" and len(call.args) == 3]  # type: ignore[attr-defined]
            assert not with_names or function.name in (*OF_USER, "also"), function.name
    assert found == CALLS_IT


USUAL = ("ordered", "random", "cached", "stateful in Python")
"""What is tried in every run: all kinds of what may be done with a pipeline, and one of each why it may not."""


@pytest.fixture(scope="module", params=[USUAL, pytest.param(tuple(PIPELINES), marks=pytest.mark.nightly)], ids=len)
def fixes(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, dict[str, Fix]]:
    """By program and by code, or by words where there is none."""
    runs = capture_all(tmp_path_factory.mktemp("programs"), request.param)
    found: dict[str, dict[str, Fix]] = {}
    for kind, path in runs.items():
        run = Run(tfprof.load(path).run.results)
        assert len(run.results.tf_data.pipelines), kind
        found[kind] = {fix.code or fix.words: fix for _, fix in every_fix(run)}
    return found


@pytest.fixture(scope="module")
def trained(fixes: dict[str, dict[str, Fix]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What each program trains on as it is, and then with each code of its fixes."""
    codes = {kind: ["", *filter(None, (fix.code for fix in found.values()))] for kind, found in fixes.items()}
    for kind in codes:  # what compiles the model does so whatever the data are
        codes[kind] = [code for code in codes[kind] if kind == "ordered" or "model.compile" not in code]
    texts = [pasted(text_of(kind), code) if code else text_of(kind) for kind, own in codes.items() for code in own]
    told = iter(run_all(tmp_path_factory.mktemp("pasted"), texts))
    return {kind: [{"code": code, **next(told)} for code in own] for kind, own in codes.items()}


@pytest.mark.tensorflow
def test_code_has_the_names_of_the_program(fixes: dict[str, dict[str, Fix]]) -> None:
    for kind, found in fixes.items():
        names = {node.id for node in ast.walk(ast.parse(text_of(kind))) if isinstance(node, ast.Name)}
        for fix in found.values():
            assert fix.names <= names | {"tf"}, kind
            assert not fix.code or why_it_does_not_run(fix.code, fix.names) == "", kind


@pytest.mark.tensorflow
def test_the_statement_of_the_program_is_what_is_changed(fixes: dict[str, dict[str, Fix]]) -> None:
    says = {
        "ordered": "data = data.map(work, num_parallel_calls=tf.data.AUTOTUNE)",
        "ordered in parallel": ".map(work, num_parallel_calls=2).cache()  # two at a time",
        "random": "map(augment, num_parallel_calls=tf.data.AUTOTUNE)",
        "shuffled": "data = data.map(work, num_parallel_calls=tf.data.AUTOTUNE).batch(4)",
        "rebatched": "data = data.rebatch(5, drop_remainder=True)",
        "interleaved": "cycle_length=3, num_parallel_calls=tf.data.AUTOTUNE)",
    }
    for kind, code in says.items():
        assert kind not in fixes or any(code in fix.code for fix in fixes[kind].values()), (kind, [*fixes[kind]])
    for found in fixes.values():
        codes = "\n".join(fix.code for fix in found.values())
        assert "    jit_compile=True" in codes or ", jit_compile=True" in codes
        assert "steps_per_execution=32" in codes
        assert "labelled = labelled.prefetch(tf.data.AUTOTUNE)" in codes or "stateful" in str(found)


@pytest.mark.tensorflow
def test_no_code_changes_what_is_trained(trained: dict[str, list[Any]]) -> None:
    for kind, (before, *after) in trained.items():
        first, second = before["epochs"]
        varies = "random" in kind or "stateful" in kind or kind == "shuffled"
        assert (first != second) == varies, kind
        for one in after:
            epochs, where = one["epochs"], f"{kind}: {one['code']}"
            assert [len(epoch) for epoch in epochs] == [len(first)] * 2, where
            assert (epochs[0] != epochs[1]) == varies, where
            if not varies:
                assert epochs == before["epochs"], where
                assert np.allclose(one["weights"], before["weights"], rtol=1e-3, atol=1e-4), where
            if kind == "shuffled":
                assert sorted(np.concatenate(epochs[0]).tolist()) == sorted(np.concatenate(first).tolist()), where


@pytest.mark.tensorflow
def test_only_what_gives_the_same_in_each_epoch_is_kept_by_code(fixes: dict[str, dict[str, Fix]]) -> None:
    own = {kind: text_of(kind).count(".cache()") for kind in fixes}
    kept = {
        kind for kind, found in fixes.items() if any(fix.code.count(".cache()") > own[kind] for fix in found.values())
    }
    assert kept == {"ordered", "ordered in parallel", "ordered by a lambda", "rebatched", "interleaved"} & fixes.keys()
    stateful = [kind for kind in fixes if kind.startswith("stateful")]
    assert stateful
    assert not any(".map(" in fix.code for kind in stateful for fix in fixes[kind].values())
    assert "It draws random numbers: a cache behind it would give the same ones" in str(fixes["random"])


@pytest.mark.tensorflow
def test_where_there_is_a_cache_none_is_proposed_and_what_is_known_of_it_is_said(
    fixes: dict[str, dict[str, Fix]],
) -> None:
    words = [fix.words for fix in fixes["cached"].values()]
    assert any("There is a cache in this pipeline." in one and "which throws the cache away" in one for one in words)
    assert not any("by .cache()" in one or "put .cache()" in one for one in words)
