"""check: one question about a capture's surroundings -> `Check`: its answer, and the command or line that helps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Status = Literal["ok", "warning", "unknown"]


@dataclass(frozen=True)
class Check:
    """The answer to one question of `doctor()`."""

    name: str
    """What was looked at, such as `cupti`; unique in a report."""
    status: Status
    """`warning`: something will be missing or fail. `unknown`: nobody can tell from here."""
    value: str
    """What was found, in a few words and one line."""
    remedy: str = ""
    """A command for a shell or a line of code; empty where the status is "ok"."""


def ok(name: str, value: str) -> Check:
    """Make the check that found nothing to do."""
    return Check(name, "ok", _one_line(value))


def warning(name: str, value: str, remedy: str) -> Check:
    """Make the check that found what needs to be done."""
    return Check(name, "warning", _one_line(value), _one_line(remedy))


def unknown(name: str, value: str, remedy: str) -> Check:
    """Make the check that found no answer; `remedy` leads to one."""
    return Check(name, "unknown", _one_line(value), _one_line(remedy))


def text_of(path: Path) -> str:
    """Return the text of a small file of the system; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _one_line(text: str) -> str:
    # Values hold messages of other libraries, which may have many lines and control characters.
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
