"""A piece of advice: its severity, order, headline, fix and the user's statement in it."""

from __future__ import annotations

import ast
import dataclasses
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.builders import session, trace
from tfprof_widgets.analysis import (
    RULES,
    STAGES,
    TABLES,
    Advice,
    Analysis,
    Fix,
    Highlight,
    Rule,
    Run,
    UserCall,
    advice_table,
    advise,
    input_rules,
    is_of_model,
    only_call,
    ranked,
    rewritten,
    rules,
    why_it_does_not_run,
)
from tfprof_widgets.trace import SourceMap, empty_source_map


def one(rule: str, gain: float) -> Advice:
    return advise(rule, "why", evidence={"a_ms": 1.0}, fix=Fix("Do it."), selection=Highlight(), gain_ratio=gain)


@pytest.mark.parametrize(
    ("gain", "severity"),
    [(1.0, "high"), (0.2, "high"), (0.19, "medium"), (0.05, "medium"), (0.04, "low"), (0.0, "low")],
)
def test_severity_goes_by_gain(gain: float, severity: str) -> None:
    assert one("a", gain).severity == severity


def test_an_advice_comes_out_of_a_pickle_as_it_went_in_and_still_read_only() -> None:
    again = pickle.loads(pickle.dumps(one("a", 0.3)))
    assert again == one("a", 0.3)
    with pytest.raises(TypeError):
        again.evidence["a_ms"] = 2.0


@pytest.mark.parametrize(("given", "kept"), [(-0.1, 0.0), (1.7, 1.0), (0.5, 0.5)])
def test_a_gain_is_a_share(given: float, kept: float) -> None:
    assert one("a", given).gain_ratio == kept


def test_the_largest_gain_comes_first_and_names_decide_among_equals() -> None:
    found = ranked(iter([one("b", 0.1), one("a", 0.1), one("c", 0.9)]))
    assert [advice.rule for advice in found] == ["c", "a", "b"]


@pytest.mark.parametrize(("cause", "first"), [(0.2, "input_bound"), (0.1, "small_batch")])
def test_what_any_step_has_comes_behind_a_cause_of_a_quarter_of_it(cause: float, first: str) -> None:
    assert ranked([one("small_batch", 0.7), one("input_bound", cause)])[0].rule == first


def test_what_only_says_where_the_time_goes_comes_behind_a_cause_of_as_much() -> None:
    found = ranked(iter([one("busy", 0.0), one("memory_growth", 0.0)]))
    assert [advice.rule for advice in found] == ["memory_growth", "busy"]


def test_an_advice_cannot_be_changed() -> None:
    advice = one("a", 0.1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        advice.rule = "b"  # type: ignore[misc]
    with pytest.raises(TypeError):
        advice.evidence["a_ms"] = 2.0  # type: ignore[index]


def test_the_table_has_its_columns_without_any_advice() -> None:
    assert list(advice_table(()).columns) == list(TABLES["advice_table"].types)
    assert advice_table((one("a", 0.3),))["severity"].tolist() == ["high"]


def test_a_rule_that_fails_takes_no_other_along(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(run: Run) -> Iterator[Advice]:
        yield one("half", 0.9)
        raise ZeroDivisionError("no steps")

    def broken_too(run: Run) -> Iterator[Advice]:
        raise ZeroDivisionError("no steps")

    def works(run: Run) -> Iterator[Advice]:
        yield one("works", 0.5)

    monkeypatch.setattr(rules, "RULES", {one.__name__: Rule(one, "") for one in (broken, works, broken_too)})
    results = Analysis(trace(session()))
    assert results.notices == ()
    assert [advice.rule for advice in results.advice] == ["works"]
    expected = (
        "The advice rules broken and broken_too failed: ZeroDivisionError: no steps. The other advice is not affected."
    )
    assert results.advice_notices == results.notices == (expected,)


RULE = re.compile(r'advise\(\s*"(\w+)"(?: if \w+ else "(\w+)")?')


def test_every_rule_and_stage_has_a_headline() -> None:
    texts = [path.read_text() for path in PACKAGE.glob("*.py")]
    rules = {rule for text in texts for found in RULE.findall(text) for rule in found if rule}
    assert rules <= set(RULES)
    assert all(one.headline for one in RULES.values())
    assert RULES["input_bound"].headline not in {one.headline for one in STAGES.values()}


def test_a_rule_of_somebody_else_has_none() -> None:
    assert advise("mine", "So.", evidence={}, fix=Fix("Do it."), selection=Highlight()).headline == ""


PACKAGE = Path(input_rules.__file__).parent


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("# less often", "comments alone"),
        ("@tf.function\ndef train_step(batch): ...", "... in place of code"),
        ("def on_train_batch_end(self, batch, logs=None):\n    ...", "... in place of code"),
        ("model.compile(..., jit_compile=True)", "... in place of code"),
        ("dataset = dataset.map(f)", "nobody knows dataset, f"),
        ("keras.backend.set_floatx('float32')", "nobody knows keras"),
        ("x = (", "no Python"),
        ("a\x00b", "no Python"),
    ],
)
def test_code_that_would_not_run_is_refused(code: str, why: str) -> None:
    assert why in why_it_does_not_run(code, ())
    with pytest.raises(ValueError, match="(?s).*"):
        Fix("Do it.", code)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import os\nos.environ['A'] = 'b'", ()),
        ("d = d.map(lambda x, y: (x[..., 0], y))", ("d",)),
        ("sizes = [len(one) for one in data]\nprint(sizes)", ("data",)),
        ("from a import b as c\nc()", ()),
        ("return d.batch(4)", ("d",)),  # in place of the statement of a function
    ],
)
def test_code_of_known_names_is_accepted(code: str, names: tuple[str, ...]) -> None:
    assert Fix("Do it.", code, frozenset(names)).code == code


def test_a_fix_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="no words"):
        Fix("", "import os")


def test_words_come_first() -> None:
    assert str(Fix("Do it.")) == "Do it."
    assert str(Fix("Do it.", "import os").also("Again.")) == "Do it. Again.\nimport os"


def fix_calls() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(PACKAGE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Fix":
                yield f"{path.name}:{node.lineno}", node


def test_every_template_of_code_runs_by_itself() -> None:
    """What has names of the user's is made of the user's own statement: `test_pasted_fixes` runs that."""
    found = 0
    for place, call in fix_calls():
        if len(call.args) == 2:
            code = ast.unparse(call.args[1])
            text = eval(code, {"eagerly": "import tensorflow as tf"})
            assert why_it_does_not_run(text, ()) == "", place
            found += 1
    assert found >= 5


IMPORT = "import tensorflow as tf\n"


def noted(*texts: str, is_user: bool = True) -> SourceMap:
    """A program of some files."""
    files = [
        {"file": f"/home/me/f{k}.py", "title": "", "is_user": is_user, "text": text} for k, text in enumerate(texts)
    ]
    empty = empty_source_map()
    return SourceMap(
        ops=empty.ops,
        frames=empty.frames,
        files=pd.DataFrame(files),
        layers=empty.layers,
        functions=empty.functions,
        samples=empty.samples,
        facts=empty.facts,
    )


def call_in(*texts: str, method: str = "compile") -> UserCall | None:
    return only_call(noted(*texts), method, is_of_model)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("model.compile()", "model.compile(jit_compile=True)"),
        ('net.compile("sgd", loss)', 'net.compile("sgd", loss, jit_compile=True)'),
        ("net.compile(**options)", "net.compile(**options, jit_compile=True)"),
        ("net.compile(loss, jit_compile=False)", "net.compile(loss, jit_compile=True)"),
        (
            "net.compile(\n    loss,  # why\n    metrics=[é],\n)",
            "net.compile(\n    loss,  # why\n    metrics=[é], jit_compile=True,\n)",
        ),
        (
            "def make():\n    if fast:\n        net.compile(\n            loss\n        )",
            "net.compile(\n    loss, jit_compile=True\n)",
        ),
        ("%load_ext x\n!pip list\nnet.compile(loss)", "net.compile(loss, jit_compile=True)"),
        ("import re\nre.compile('x')\nnet.compile(loss)", "net.compile(loss, jit_compile=True)"),
        ("é = 1; net.compile(é)  # said", "net.compile(é, jit_compile=True)"),
    ],
)
def test_a_call_gets_another_argument_and_all_else_stays(text: str, code: str) -> None:
    call = call_in(text)
    assert call is not None
    assert call.with_keyword("jit_compile", "True") == code


@pytest.mark.parametrize(
    "texts",
    [
        ("x = 1",),
        ("a.compile(loss)", "b.compile(loss)"),  # which of them ran nobody knows
        ("a.compile(loss)\nb.compile(loss)",),
        ("re.compile('x')",),
        ("for k in a.compile(loss):\n    pass",),  # no statement of its own
        ("a.compile(",),  # cut, or no Python
    ],
)
def test_what_is_not_certain_is_not_written(texts: tuple[str, ...]) -> None:
    assert call_in(*texts) is None
    assert rewritten("Compile it.", call_in(*texts), "").code == ""


def test_a_library_is_no_code_of_the_user() -> None:
    assert only_call(noted("a.compile(loss)", is_user=False), "compile", is_of_model) is None


@pytest.mark.parametrize("text", ["a.compile((loss))", "a.compile(one for one in losses)"])
def test_brackets_that_would_take_the_new_argument_give_no_code(text: str) -> None:
    call = call_in(text)
    assert call is not None
    assert call.with_keyword("jit_compile", "True") in ("", "a.compile((loss), jit_compile=True)")


def test_tf_is_written_only_where_the_program_calls_tensorflow_so() -> None:
    for head, code in (
        (IMPORT, "d = d.map(f, num_parallel_calls=tf.data.AUTOTUNE)"),
        ("from tensorflow import data\n", ""),
    ):
        call = only_call(noted(f"{head}d = d.map(f)"), "map", lambda _: True)
        assert call is not None
        assert call.target == "d"
        assert call.with_keyword("num_parallel_calls", "tf.data.AUTOTUNE") == code


def test_a_fix_says_in_place_of_what_it_stands() -> None:
    call = call_in("x = 1\nnet.compile(loss)")
    assert call is not None
    fix = rewritten("Compile it.", call, call.with_keyword("jit_compile", "True"))
    assert str(fix) == "Compile it.\n# in place of f0.py:2\nnet.compile(loss, jit_compile=True)"
    assert fix.replaces == "net.compile(loss)"
