"""Names and lines of the user's -> text of a fix, whatever they hold.

remark("train.py:3: f(x)") == "# train.py:3: f(x)\\n"
"""

from __future__ import annotations

import keyword

_MOST_CHARACTERS = 300


def remark(text: str) -> str:
    """A comment of one line; nothing where there is no text."""
    words = one_line(text)
    return f"# {words}\n" if words else ""


def one_line(text: str) -> str:
    """The same as part of a sentence."""
    words = " ".join(text.split()).replace("\x00", "")
    return words if len(words) <= _MOST_CHARACTERS else f"{words[:_MOST_CHARACTERS]}..."


def named(name: str, otherwise: str) -> str:
    """A name that can stand in code; another one where it cannot, such as `<lambda>`."""
    return name if name.isidentifier() and not keyword.iskeyword(name) else otherwise
