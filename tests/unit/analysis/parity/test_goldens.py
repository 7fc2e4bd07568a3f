"""What `tests/data` keeps of XProf is about the captures that lie there."""

from __future__ import annotations

from hashlib import sha256

import pytest

from tests.captures import committed
from tests.unit.analysis.parity.parity_case import (
    KINDS,
    LOOPING_KIND,
    UNMARKED_KINDS,
    WITHOUT_ITERATIONS,
    without_iterations,
)

MOST_BYTES = 13_000_000
"""Every clone has them, and every `make goldens CAPTURES=1` adds a tenth of them once more."""


@pytest.mark.parametrize("name", [*KINDS, *UNMARKED_KINDS])
def test_xprof_was_asked_about_this_very_capture(name: str) -> None:
    assert committed.answers(name)["sha256"] == sha256(committed.content(name)).hexdigest(), "run `make goldens`"


def test_xprof_was_asked_about_the_capture_without_iterations() -> None:
    content = without_iterations(committed.content(LOOPING_KIND))
    assert committed.answers(WITHOUT_ITERATIONS)["sha256"] == sha256(content).hexdigest(), "run `make goldens`"


def test_captures_and_answers_stay_small() -> None:
    sizes = [path.stat().st_size for path in committed.DATA.rglob("*") if path.is_file()]
    assert len(sizes) > len(committed.NAMES)
    assert sum(sizes) < MOST_BYTES
