"""What holds for the advice of every rule: the view that it names shows what it selects, and its fix is Python."""

from __future__ import annotations

import pytest

from tests.unit.analysis.advice.drawn_causes import CAUSES
from tests.unit.analysis.advice.selected import why_gain_is_not_of_rows, why_nothing_is_seen
from tfprof_widgets.analysis import RULES, Analysis, named, remark, why_it_does_not_run


@pytest.fixture(scope="module")
def drawn() -> dict[str, Analysis]:
    return {cause: draw() for cause, draw in CAUSES.items()}


def test_every_rule_has_something_to_say_on_one_of_the_drawings(drawn: dict[str, Analysis]) -> None:
    said = {one.rule for results in drawn.values() for one in results.advice}
    assert said == set(RULES)
    assert all(results.advice_notices == () for results in drawn.values())


@pytest.mark.parametrize("cause", CAUSES)
def test_the_view_that_is_named_shows_what_is_selected(cause: str, drawn: dict[str, Analysis]) -> None:
    for one in drawn[cause].advice:
        assert why_nothing_is_seen(drawn[cause], one) == "", one.rule


@pytest.mark.parametrize("cause", CAUSES)
def test_a_gain_is_the_time_of_the_rows_that_a_card_is_about_or_a_stated_part_of_it(
    cause: str, drawn: dict[str, Analysis]
) -> None:
    for at, one in enumerate(drawn[cause].advice):
        assert why_gain_is_not_of_rows(drawn[cause], at) == "", one.rule


@pytest.mark.parametrize("cause", CAUSES)
def test_a_fix_is_python_that_compiles(cause: str, drawn: dict[str, Analysis]) -> None:
    for one in drawn[cause].advice:
        compile(one.fix.code, one.rule, "exec")


@pytest.mark.parametrize("cause", CAUSES)
def test_a_fix_is_told_in_plain_words_and_its_code_runs(cause: str, drawn: dict[str, Analysis]) -> None:
    assert drawn[cause].advice_notices == ()
    for one in drawn[cause].advice:
        assert one.fix.words[-1:] in (".", ":") or one.rule == "busy", one.fix
        assert "\n" not in one.fix.words, one.fix
        assert why_it_does_not_run(one.fix.code, one.fix.names) == "" or not one.fix.code, one.fix


@pytest.mark.parametrize("text", ["", "f(x)", "a\nimport os", "a\rb\u2028c\x0cd\x00", "é" * 2000])
def test_a_remark_is_one_line_whatever_it_says(text: str) -> None:
    compile(f"{remark(text)}x = 1", "remark", "exec")
    namespace: dict[str, object] = {}
    exec(f"{remark(text)}x = 1", namespace)
    assert set(namespace) == {"__builtins__", "x"}


def test_what_cannot_be_a_name_is_replaced() -> None:
    assert [named(one, "f") for one in ("draw", "<lambda>", "class", "", "a b")] == ["draw", "f", "f", "f", "f"]
