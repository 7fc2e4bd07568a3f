"""Notices as earlier versions wrote them beside a trace -> one sentence for each fact, in the words of today."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_COUNTS = r"(\d+) of (\d+)"
_FACTS = re.compile(r"(?<=\.) (?=Source lines are known of |Float operations were counted |The text of \d+ of )")
"""Between two facts that one notice told."""


def in_todays_words(notices: Iterable[str]) -> tuple[str, ...]:
    """Each notice, one for each of its facts; what today's captures write stays as it is."""
    return tuple(_reworded(fact) for notice in notices for fact in _FACTS.split(notice))


def _reworded(fact: str) -> str:
    for pattern, words in _WORDS:
        match = pattern.fullmatch(fact)
        if match:
            return words(*map(int, match.groups()))
    return fact


def lines_known(n: int, n_all: int) -> str:
    """That the source lines of some graph ops were not noted."""
    return (
        f"Source lines were read of the first {n:,} of {n_all:,} graph ops: the view of lines says for how much of the time "
        "they are known."
    )


def files_in_part(n: int, n_all: int, most_bytes: int, all_bytes: int) -> str:
    """That the text of some source files was cut."""
    parts = f"at most {most_bytes >> 10:,} KiB of each, {all_bytes >> 20:,} MiB in all"
    return f"{n:,} of {n_all:,} source files are shown in part: {parts}."


_OF_SOURCE_MAP = re.compile(
    r"Source lines were read |(?:No )?FLOP counts |[\d,]+ of [\d,]+ source files are shown in part"
)


def is_of_source_map(notice: str) -> bool:
    """Whether it tells what a source map lacks: without the map it is beside the point."""
    return _OF_SOURCE_MAP.match(notice) is not None


def _flops(n: int, n_all: int, _: int) -> str:
    known = f"FLOP counts are known for {n:,} of {n_all:,} graph ops" if n else "No FLOP counts of graph ops"
    return f"{known} that XLA did not compile: counting ran out of time."


_WORDS: tuple[tuple[re.Pattern[str], Callable[..., str]], ...] = (
    (re.compile(rf"Source lines are known of {_COUNTS} graph ops \(a bound\)\."), lines_known),
    (re.compile(rf"Float operations were counted of {_COUNTS} graph ops \((\d+) s\)\."), _flops),
    (
        re.compile(rf"The text of {_COUNTS} source files was cut \((\d+) bytes each, (\d+) in all\)\."),
        files_in_part,
    ),
)
