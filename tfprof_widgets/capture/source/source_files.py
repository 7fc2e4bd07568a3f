"""File names of tracebacks -> which files are the user's, their texts and what to call them."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sys
from pathlib import Path
from typing import Any

from .library_roots import is_below, library_roots

MAX_FILE_BYTES = 256 * 2**10
"""How much of one file is kept; a cell or module of a user is far smaller."""
MAX_READ_BYTES = 16 * 2**20
"""No larger file is read at all."""
MAX_TEXT_BYTES = 4 * 2**20
"""How much of all files together."""

_INPUT = re.compile(r"(?:^<|[\\/])ipython-input(?:-(\d{1,9})(?=-))?-")
"""Names of cells: `<ipython-input-7-0123abcd>` of older versions, `/tmp/ipython-input-1234.py` of Colab."""
_GENERATED = ("<frozen ", "<__array_function__", "<decorator-gen", "__autograph_generated_file")


def is_user_file(filename: str) -> bool:
    """Whether code of that file is the user's: a cell, a script or module outside installed packages and Python itself."""
    return _is_user_file(filename, library_roots())


@functools.lru_cache(maxsize=65536)
def _is_user_file(filename: str, roots: tuple[str, ...]) -> bool:
    if not filename or any(part in filename for part in _GENERATED):
        return False
    if filename.startswith("<"):
        return filename in ("<stdin>", "<string>") or filename.startswith("<ipython-input")
    return is_cell(filename) or not is_below(filename, roots)


def text_of(filename: str, until_ns: int) -> str:
    """The text of a file or of a notebook's cell as it was until a Unix time, "" where it is not known."""
    try:
        path = Path(filename)
        if path.exists():
            # Nothing to wait for, as `python /dev/stdin` is, and nothing that is no source.
            if not path.is_file() or path.stat().st_size > MAX_READ_BYTES:
                return ""
            if path.stat().st_mtime_ns > until_ns:  # what ran is known only where Python happens to have kept it
                return _kept_text(filename, until_ns)
            linecache.checkcache(filename)  # `%autoreload` runs a new text under the old name
        return "".join(linecache.getlines(filename))
    except Exception:  # linecache calls loaders of foreign packages; no text is no reason to fail
        return ""


def _kept_text(filename: str, until_ns: int) -> str:
    entry = linecache.cache.get(filename, ())
    if len(entry) < 3 or entry[1] is None or entry[1] * 1e9 > until_ns:
        return ""
    return "".join(entry[2])


def cut_text(text: str, room_bytes: int) -> str:
    """The whole lines of a text that fit."""
    content = text.encode("utf-8", "replace")
    if len(content) <= room_bytes:
        return text
    kept = content[: max(room_bytes, 0)]
    return kept[: kept.rfind(b"\n") + 1].decode("utf-8", "replace")


def title_of(filename: str) -> str:
    """What to call a file: `Cell [5]`, `<cell>`, or its path relative to the working directory."""
    number = _cell_number(filename)
    if number is not None:
        return f"Cell [{number}]"
    if is_cell(filename):
        return "<cell>"
    try:
        relative = os.path.relpath(filename)
    except (OSError, ValueError):  # the working directory is gone, or on another drive
        return filename
    return filename if relative.startswith(os.pardir) else relative


def is_cell(filename: str) -> bool:
    """Whether it is the name that IPython or its kernel gives to the code of a cell."""
    return _INPUT.search(filename) is not None or f"{os.sep}ipykernel_" in filename


def _cell_number(filename: str) -> int | None:
    """The number that the notebook shows beside the cell, as far as its name tells it or IPython remembers it."""
    named = _INPUT.search(filename)
    if named is not None and named[1]:
        return int(named[1])
    shell = running_shell()
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
    number = numbers.get(filename) if isinstance(numbers, dict) else None
    return number if isinstance(number, int) else None


def running_shell() -> Any:
    """IPython's shell where it runs this process, else None."""
    # Not `get_ipython()`: importing IPython in a plain program would cost more than all the rest.
    module = sys.modules.get("IPython.core.getipython")
    try:
        return module.get_ipython() if module is not None else None
    except Exception:  # a shell that is being torn down
        return None


def user_texts(until_ns: int) -> dict[str, str]:
    """All texts of the user that the process knows: the cells that ran, the main script, imported modules; as `text_of`."""
    names = [name for name in list(linecache.cache) if is_user_file(name)]
    for module in list(sys.modules.values()):
        try:
            name = object.__getattribute__(module, "__dict__").get("__file__")  # asking a lazy module would import it
        except (AttributeError, TypeError):
            continue
        if isinstance(name, str) and name.endswith(".py") and is_user_file(name):
            names.append(name)
    texts: dict[str, str] = {}
    room = MAX_TEXT_BYTES
    for name in dict.fromkeys(names):
        text = text_of(name, until_ns)
        if text and len(text) <= min(room, MAX_FILE_BYTES):
            texts[name] = text
            room -= len(text)
    return texts
