"""A fix has words, and code only where it runs as it is pasted; all that rules can advise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tfprof_widgets.analysis import Fix, card, why_it_does_not_run

PACKAGE = Path(card.__file__).parent


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
    assert found >= 6
