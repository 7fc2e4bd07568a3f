"""Citations of `docs/semantics.md`: each names a section or a difference that is there, and each difference is cited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")

_HEADING = re.compile(r"^(##+) (\d+(?:\.\d+)?)\.? \S", re.MULTILINE)
_RULE = re.compile(r"^- \*\*(\d+\.\d+\.\d+)\*\* \S", re.MULTILINE)
_DIFFERENCE_HEADING = re.compile(r"^### (D\d+) \S", re.MULTILINE)
_NUMBERS_ALONE = re.compile(r"\((\d+(?:\.\d+)+(?:, \d+(?:\.\d+)+)*)\)")
"""How the document refers to itself: `(2.4.6, 10.4)`."""

_NUMBER = r"\d+(?:\.\d+)*[A-Za-z]?"
_CITATION = re.compile(rf"\bsemantics ({_NUMBER}(?:(?:, | and |-){_NUMBER})*)")
_UNNUMBERED = re.compile(r"\bsemantics\b(?! \d)(?!\.md)[^.]{0,40}")
_DIFFERENCE = re.compile(r"\bD\d{1,2}\b")
_NEW_LINE = re.compile(r"\n[ \t]*(?:#|//|\*)?[ \t]*")
"""A citation may go on in the next line of a docstring or a comment."""


def document_sections() -> list[str]:
    """The numbers of sections, subsections and rules."""
    return [number for _, number in _HEADING.findall(DOCUMENT)] + _RULE.findall(DOCUMENT)


def document_differences() -> list[str]:
    return _DIFFERENCE_HEADING.findall(DOCUMENT)


def texts(*patterns: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Path and text, in one line, of the files that match `(folder, pattern)`; this one is left out."""
    for folder, pattern in patterns:
        for path in sorted((ROOT / folder).rglob(pattern)):
            if path != Path(__file__):
                yield path.relative_to(ROOT).as_posix(), _NEW_LINE.sub(" ", path.read_text(encoding="utf-8"))


def code() -> list[tuple[str, str]]:
    return list(texts(("tfprof_widgets", "*.py"), ("js/src", "*.ts")))


def cited_sections(text: str) -> list[str]:
    """The numbers that a text cites; of a range its ends."""
    return [number for group in _CITATION.findall(text) for number in re.findall(_NUMBER, group)]


def test_every_section_is_numbered_once_and_in_order() -> None:
    headings = [tuple(int(part) for part in number.split(".")) for _, number in _HEADING.findall(DOCUMENT)]
    assert headings == sorted(set(headings))
    assert [number[0] for number in headings if len(number) == 1] == list(range(1, max(headings)[0] + 1))
    rules = [tuple(int(part) for part in number.split(".")) for number in _RULE.findall(DOCUMENT)]
    assert rules == sorted(set(rules))
    assert {number[:2] for number in rules} <= set(headings)
    assert {hashes for hashes, number in _HEADING.findall(DOCUMENT) if "." in number} == {"###"}
    assert document_differences() == [f"D{i}" for i in range(1, len(document_differences()) + 1)]


def test_every_citation_names_a_section_of_the_document() -> None:
    known, cited = set(document_sections()), [(path, one) for path, text in code() for one in cited_sections(text)]
    assert len(cited) > 50
    in_tests = [(path, one) for path, text in texts(("tests", "*.py")) for one in cited_sections(text)]
    assert [(path, one) for path, one in (*cited, *in_tests) if one not in known] == []


def test_sections_are_cited_in_one_way() -> None:
    """`semantics 3.1`: no "section 3", nor a rule without its number."""
    assert [(path, one) for path, text in code() for one in _UNNUMBERED.findall(text)] == []


def test_every_difference_that_code_names_is_in_the_document() -> None:
    known, cited = (
        set(document_differences()),
        [(path, one) for path, text in code() for one in _DIFFERENCE.findall(text)],
    )
    assert len(cited) > 10
    assert [(path, one) for path, one in cited if one not in known] == []


def test_every_difference_is_cited_by_code_or_a_test() -> None:
    everywhere = {one for _, text in (*code(), *texts(("tests", "*.py"))) for one in _DIFFERENCE.findall(text)}
    assert len(document_differences()) >= 12
    assert [one for one in document_differences() if one not in everywhere] == []


def test_the_document_refers_to_sections_that_it_has() -> None:
    known = set(document_sections())
    named = [number for group in _NUMBERS_ALONE.findall(DOCUMENT) for number in group.split(", ")]
    assert len(named) > 20
    assert [number for number in named if number not in known] == []
