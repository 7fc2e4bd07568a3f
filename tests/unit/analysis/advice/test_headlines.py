"""Every rule of the advice says in a few words what to do."""

from __future__ import annotations

import re
from pathlib import Path

from tfprof_widgets.analysis import STAGES, card, headline_of

RULE = re.compile(r'advise\(\s*"(\w+)"(?: if \w+ else "(\w+)")?')


def test_every_rule_and_stage_has_a_headline() -> None:
    texts = [path.read_text() for path in Path(card.__file__).parent.glob("*.py")]
    rules = {rule for text in texts for found in RULE.findall(text) for rule in found if rule}
    assert len(rules) > 25
    for rule in rules:
        assert headline_of(rule, ""), rule
    for stage in STAGES:
        assert headline_of("input_bound", stage) != headline_of("input_bound", "")


def test_a_rule_of_somebody_else_has_none() -> None:
    assert headline_of("mine", "") == ""
