"""What is known of a program and the cards about it -> whether they name the cause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.nightly.diagnosis.kit import Program

GRAVE = ("medium", "high")
_LINES = re.compile(r"([\w-]+\.py):(\d+)(?:[-–](\d+))?")


@dataclass(frozen=True)
class Card:
    """What a reader sees of an advice."""

    rule: str
    severity: str
    title: str
    fix: str
    gain_ratio: float


@dataclass(frozen=True)
class Verdict:
    """`hit`, `partial`, `other` or `silent`; of a healthy program `quiet` or `false alarm`."""

    kind: str
    card: Card | None = None
    """The one that the verdict is about."""


def judge(program: Program, cards: Sequence[Card]) -> Verdict:
    """Hold the cards, the first first, against what is known of the program."""
    grave = [card for card in cards if card.severity in GRAVE]
    if not program.cause:
        return Verdict("false alarm", grave[0]) if grave else Verdict("quiet")
    for place, card in enumerate(cards):
        if says_what(program, card) and says_where(program, card):
            return Verdict("partial" if place else "hit", card)
    if cards and says_what(program, cards[0]):
        return Verdict("partial", cards[0])  # the mechanism, but not the place
    return Verdict("other", cards[0]) if cards and cards[0] in grave else Verdict("silent")


def says_what(program: Program, card: Card) -> bool:
    """Whether a card has words of the mechanism, in capitals or not."""
    said = _LINES.sub("", f"{card.title}\n{card.fix}")  # a file's name is no word of a mechanism
    return re.search(program.words, said, re.IGNORECASE) is not None


def says_where(program: Program, card: Card) -> bool:
    """Whether a card names a marked line; one that names no line will do where the place is none of the program's lines."""
    named = named_lines(f"{card.title}\n{card.fix}")
    if not named:
        return not program.needs_line
    return any((program.file, line) in named for line in program.lines)


def named_lines(text: str) -> set[tuple[str, int]]:
    """`(file, line)` of each `file.py:12` or `file.py:12-14`."""
    found = set()
    for file, first, last in _LINES.findall(text):
        found |= {(file, line) for line in range(int(first), int(last or first) + 1)}
    return found
