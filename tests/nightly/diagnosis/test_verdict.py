"""Cards made up -> the verdict on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.nightly.diagnosis.kit import Program
from tests.nightly.diagnosis.verdict import Card, judge

PROGRAM = Program("p", "input", lambda _: lambda: None, "A stage waits.", r"\bstage\b", "input.py", frozenset({7, 8}))
RIGHT = Card("slow", "high", "The stage of input.py:8 waits.", "# nothing", 0.5)
NOWHERE = replace(RIGHT, title="A stage waits.")
ELSEWHERE = replace(RIGHT, title="The stage of input.py:9 waits.")
ANOTHER = Card("eager", "medium", "Ops run one by one in input.py:8.", "tf.function", 0.4)
SMALL = replace(ANOTHER, severity="low")


@pytest.mark.parametrize(
    ("cards", "kind", "about"),
    [
        ([RIGHT, ANOTHER], "hit", RIGHT),
        ([replace(RIGHT, severity="low")], "hit", replace(RIGHT, severity="low")),
        ([replace(NOWHERE, fix="input.py:6-7 does it")], "hit", replace(NOWHERE, fix="input.py:6-7 does it")),
        ([replace(RIGHT, title="Stage of input.py:7.")], "hit", replace(RIGHT, title="Stage of input.py:7.")),
        ([ANOTHER, RIGHT], "partial", RIGHT),
        ([NOWHERE], "partial", NOWHERE),
        ([ELSEWHERE, ANOTHER], "partial", ELSEWHERE),
        ([replace(RIGHT, title="The stage of model.py:8 waits.")], "partial", None),
        ([ANOTHER, NOWHERE], "other", ANOTHER),
        ([SMALL, ANOTHER], "silent", None),
        ([], "silent", None),
    ],
)
def test_a_fault_is_judged_by_words_and_lines(cards: list[Card], kind: str, about: Card | None) -> None:
    verdict = judge(PROGRAM, cards)
    assert verdict.kind == kind
    assert about is None or verdict.card == about


def test_where_no_line_is_needed_a_card_may_name_none_but_no_wrong_one() -> None:
    program = replace(PROGRAM, needs_line=False)
    assert judge(program, [NOWHERE]).kind == "hit"
    assert judge(program, [ELSEWHERE]).kind == "partial"


def test_only_a_grave_card_about_a_healthy_program_is_a_false_alarm() -> None:
    well = replace(PROGRAM, cause="", words="")
    assert judge(well, [SMALL]).kind == "quiet"
    assert judge(well, [SMALL, ANOTHER]).card == ANOTHER
