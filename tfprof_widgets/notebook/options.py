"""The line of a magic -> its options and the statement behind them."""

from __future__ import annotations

import re

from IPython.core.error import UsageError

_OPTION = re.compile(r"\s*(-{1,2}[A-Za-z][\w-]*)")
_VALUE = re.compile(r"""\s*=?\s*("[^"]*"|'[^']*'|[^\s=]\S*)""")
_FLAGS = ("--live", "--no-system", "--check", "--help", "-h")


def split_options(line: str) -> tuple[list[str], str]:
    """Split the options at the begin of a line from the statement behind them, whose text stays as it is.

    Returns:
        The options and their values, unquoted, and the statement. A lone `--` ends the options.

    Raises:
        UsageError: an option lacks its value.
    """
    options: list[str] = []
    position = 0
    while match := _OPTION.match(line, position):
        options.append(match.group(1))
        position = match.end()
        if match.group(1) in _FLAGS:
            continue
        value = _VALUE.match(line, position)
        if value is None:
            raise UsageError(f"{match.group(1)} needs a value; `%%tfprofile --help` prints the options.")
        options.append(value.group(1).strip("\"'"))
        position = value.end()
    rest = line[position:].strip()
    return options, rest[2:].strip() if rest.startswith("-- ") else rest


def parse_steps(text: str) -> range:
    """Return the range that `A:B` or `A:B:C` means; `A` alone is that one step, `:B` begins at 0.

    Raises:
        UsageError: it is none of these.
    """
    match = re.fullmatch(r"(\d*)(?::(\d+)(?::(\d+))?)?", text.strip())
    if match is None or not text.strip() or (match.group(3) is not None and int(match.group(3)) == 0):
        raise UsageError(f"--steps {text}: give a range such as 10:20 (steps 10 to 19), or 0:100:10.")
    first = int(match.group(1) or 0)
    stop = first + 1 if match.group(2) is None else int(match.group(2))
    if stop <= first:
        raise UsageError(f"--steps {text} selects no step: its end must be greater than its begin.")
    return range(first, stop, int(match.group(3) or 1))
