"""failure: an exception that ended the profiled code -> what it tells of an allocation that failed.

    read_failure(error)      # Failure, or None where memory was not the matter

Only texts and numbers are kept: a held exception keeps its frames alive, and with them the tensors that filled the memory.
"""

from __future__ import annotations

import linecache
import logging
import re
import time
import traceback
from collections.abc import Iterator

from ...trace.capture_facts import Failure
from ..source.source_files import is_user_file, title_of

_logger = logging.getLogger(__name__)

MAX_CHAIN = 50
MAX_LINES = 20
MAX_LINE = 500
"""Of the message: TensorFlow's holds a traceback, and may hold all allocations of a device."""
_TENSORFLOW_NAMES = frozenset(("ResourceExhaustedError", "XlaRuntimeError", "JaxRuntimeError"))
_IS_MEMORY = re.compile(r"\bOOM\b|out of memory|\ballocat|\bmemory\b|RESOURCE_EXHAUSTED", re.IGNORECASE)
_IS_TOLD = re.compile(r"\bOOM\b|out of memory|\ballocat|\{\{node |\[Op:|Dst tensor is not initialized", re.IGNORECASE)
_IS_ASIDE = re.compile(r'^(?:Hint:|File ")')
"""Advice, and lines of a traceback, whose folders may have any name."""
_IS_OTHER = re.compile(r"no space left|too many open files|larger than max|disk|quota", re.IGNORECASE)
"""What else a ResourceExhaustedError may be about."""
_IS_COPY = "Dst tensor is not initialized"
"""What TensorFlow says, in an InternalError, where a device has no room for a tensor that is copied to it."""


def read_failure(error: BaseException | None, *, batch_size: int = 0) -> Failure | None:
    """Read the exception that tells of a failed allocation, be it the one that arrived or one in its chain.

    Returns:
        What it tells; None where it is about something else, and where it cannot be read: the user's own exception is on
        its way and must arrive.
    """
    if error is None:
        return None
    try:
        at_ns = time.time_ns()
        for one in _chain(error):
            if _is_about_memory(one):
                file, line, code = _place(one, error)
                return Failure(
                    kind=type(one).__name__[:MAX_LINE],
                    text=_told(str(one)),
                    at_ns=at_ns,
                    file=file,
                    line=line,
                    code=code,
                    batch_size=batch_size,
                )
    except Exception:  # an exception's own methods are anybody's code
        _logger.warning("the exception cannot be read", exc_info=True)
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, what it was raised from and what it holds, the outer ones first; each once."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < MAX_CHAIN:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        # Keras raises `from None`, which hides what was before but keeps it.
        waiting += [one.__cause__, one.__context__]
        members = getattr(one, "exceptions", ())
        waiting += [member for member in members if isinstance(member, BaseException)] if type(members) is tuple else []


def _is_about_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    names = {base.__name__ for base in type(error).__mro__}
    text = str(error)
    if "InternalError" in names:
        return _IS_COPY in text
    if not names & _TENSORFLOW_NAMES or (_IS_OTHER.search(text) and not _IS_TOLD.search(text)):
        return False
    return "ResourceExhaustedError" in names or _IS_MEMORY.search(text) is not None


def _told(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if _IS_TOLD.search(line) and not _IS_ASIDE.match(line)]
    return "\n".join(line[:MAX_LINE] for line in (told or lines[:1])[:MAX_LINES])


def _place(error: BaseException, arrived: BaseException) -> tuple[str, int, str]:
    """The innermost frame of the user's: of the exception itself, or of the one that arrived."""
    for one in (error, arrived):
        passed = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(one.__traceback__)]
        found = [(file, line) for file, line in passed if is_user_file(file)]
        if found:
            file, line = found[-1]
            return title_of(file)[:MAX_LINE], line, linecache.getline(file, line).strip()[:MAX_LINE]
    return "", 0, ""
