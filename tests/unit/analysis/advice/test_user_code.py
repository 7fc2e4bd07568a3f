"""The user's statement written anew with one call changed, as it stands in a file or in a cell."""

from __future__ import annotations

import pandas as pd
import pytest

from tfprof_widgets.analysis import UserCall, is_of_model, only_call, rewritten
from tfprof_widgets.trace import SourceMap, empty_source_map

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
    assert only_call(None, "compile", is_of_model) is None


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
