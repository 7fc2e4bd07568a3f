"""Names and lines of the user's -> text of a fix that compiles, whatever they hold.

remark("train.py:3: f(x)") == "# train.py:3: f(x)\\n"
statement("def f(x): draw(x)") == "draw(x)"
"""

from __future__ import annotations

import ast
import keyword

_MOST_CHARACTERS = 300


def remark(text: str) -> str:
    """A comment of one line; nothing where there is no text."""
    words = " ".join(text.split()).replace("\x00", "")
    words = words if len(words) <= _MOST_CHARACTERS else f"{words[:_MOST_CHARACTERS]}..."
    return f"# {words}\n" if words else ""


def named(name: str, otherwise: str) -> str:
    """A name that can stand in code; another one where it cannot, such as `<lambda>`."""
    return name if name.isidentifier() and not keyword.iskeyword(name) else otherwise


def statement(line: str) -> str:
    """The call that a line of code makes, where it can be moved elsewhere as it stands; else empty.

    Of a function that is written on one line it is the body. A line that is only a part of a statement, that begins a block,
    or whose value is used by others (`x = f()`, `return f()`) cannot be moved.
    """
    try:
        body = ast.parse(line.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    while len(body) == 1 and isinstance(body[0], ast.FunctionDef):
        body = body[0].body
    is_call = len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Call)
    return (ast.get_source_segment(line.strip(), body[0]) or "") if is_call else ""
