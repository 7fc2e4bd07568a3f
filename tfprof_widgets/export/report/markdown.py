"""Text of a trace, which may be anything -> Markdown in which it stays text: names, sentences, code, tables.

Whoever wrote the names of a trace must not write the report: no name closes a cell, a code span or a block, makes a link, an
image or a heading, or is HTML in a page that the Markdown becomes. Nor is it a formula, which could hold a link: MathJax looks
for those in the text that a reader sees, where escapes and entities are what they stand for, but not in code.

Source: CommonMark 0.31 (2.4, 2.5: escapes and entities never stand for structure; 4.5, 6.1: fences and code spans are closed by
runs of their own length only) and GitHub's tables, whose cells end at a bar even in code.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from ...analysis.base.wording import ends

_GROWTH = 2
"""Escaped text is at most so many times as long, in bytes, as there are characters room for; else it is cut shorter."""
_READ = 8
"""Of a longer text only so many times as many characters are looked at as there is room for."""
_STRUCTURE = frozenset("\\`*[<|~$")
_OUTSIDE_WORDS = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_ENTITY = re.compile(r"&(?=#|\w)")
_ADDRESS = re.compile(r"(?<=\w):(?=//)|(?<=\bwww)\.|(?<=\w)@(?=\w)", re.IGNORECASE)
_LINE_START = re.compile(r"^([-+=>#]|\d+(?=[.)](?:\s|$)))")
_FORMULA = re.compile(r"((?:\$|\\(?:[][()]|begin|end|ref|eqref))+)")
"""What MathJax takes for the begin of one."""
_CODE = re.compile(r"`([^`]+)`")
_BREAKS_CODE = re.compile(r"[`|]|<[/!?]")
_FENCE = re.compile("`+")


def sentence(text: object, most: int = 400) -> str:
    """Prose on one line. What stands between two backticks, as in our own sentences, is a code span."""
    return _shortened(_clean(ends(str(text), _READ * most)), most, _prose)


def code(text: object, most: int = 90) -> str:
    """A name in a code span; one that a code span or a table could not hold is written with character references."""
    return _shortened(_clean(ends(str(text), _READ * most)), most, _name)


def fence(text: str, most: int = 1_500, *, language: str = "python") -> str:
    """A block of code, inside a fence that is longer than any run of backticks in it."""
    body = "\n".join(_clean(line, keeps_blanks=True).rstrip() for line in text[:most].splitlines())
    if len(text) > most:
        body += f"\n# ... cut here: {len(text) - most:,} more characters"
    bar = "`" * max(3, 1 + max((len(run) for run in _FENCE.findall(body)), default=0))
    return f"{bar}{language}\n{body}\n{bar}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; a column whose name ends in a unit in brackets is aligned to the right."""
    marks = ["---:" if is_figure(name) else "---" for name in columns]
    lines = [columns, marks, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def is_figure(column: str) -> bool:
    """Whether a column of this name has figures, which are aligned to the right."""
    return column.endswith(")") or column == "count"


def _shortened(text: str, most: int, write: Callable[[str], str]) -> str:
    """Write the text, cut until neither it nor what it becomes is too long."""
    written = write(ends(text, most))
    while len(written.encode()) > _GROWTH * most and most > 4:
        most = most * 2 // 3
        written = write(ends(text, most))
    return written


def _clean(text: str, *, keeps_blanks: bool = False) -> str:
    """One line without control characters, half characters and what reorders or hides text."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(_shown(letter) for letter in text)
    return text if keeps_blanks else " ".join(text.split())


def _shown(letter: str) -> str:
    kind = unicodedata.category(letter)
    if kind in ("Cc", "Zl", "Zp"):
        return "    " if letter == "\t" else " "
    return "\N{REPLACEMENT CHARACTER}" if kind in ("Cf", "Cs", "Co", "Cn") else letter


def _name(text: str) -> str:
    if not text:
        return "(no name)"
    return _without_formulas(text, _referenced) if _BREAKS_CODE.search(text) else f"`{text}`"


def _referenced(text: str) -> str:
    return _unlinked(
        "".join(letter if letter.isalnum() or letter in " /_:.…" else f"&#{ord(letter)};" for letter in text)
    )


def _prose(text: str) -> str:
    parts = _CODE.split(text)
    parts[0::2] = [_without_formulas(part, _escaped) for part in parts[0::2]]
    parts[1::2] = [_name(part) if part.strip() else part for part in parts[1::2]]
    return _LINE_START.sub(lambda found: _started(found[1]), _joined(parts))


def _started(mark: str) -> str:
    """What would make a line a list item or a rule, made text; a number keeps its digits and loses its mark's meaning."""
    return f"&#{ord(mark[0])};{mark[1:]}"


def _without_formulas(text: str, write: Callable[[str], str]) -> str:
    """What begins formulas in code spans, and the text between as `write` writes it."""
    parts = _FORMULA.split(text)
    parts[0::2] = [write(part) for part in parts[0::2]]
    parts[1::2] = [f"`{part}`" for part in parts[1::2]]
    return _joined(parts)


def _joined(parts: Iterable[str]) -> str:
    """Markdown side by side; two code spans that touch would be none."""
    written = ""
    for part in parts:
        written += f" {part}" if written.endswith("`") and part.startswith("`") else part
    return written


def _escaped(text: str) -> str:
    text = _ENTITY.sub("&amp;", text)
    text = "".join(f"&#{ord(letter)};" if letter in _STRUCTURE else letter for letter in text)
    text = _OUTSIDE_WORDS.sub("&#95;", text)
    return _unlinked(text)


def _unlinked(text: str) -> str:
    """What a reader of Markdown takes for an address, made text."""
    return _ADDRESS.sub(lambda found: f"&#{ord(found[0])};", text)
