"""Call stacks frame by frame -> one table in which equal frames of equal callers are one row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_Frame = tuple[int, str, int, str, int, str]
_NO_TEXT = "none"
"""What TensorFlow's op log has for a line whose code could not be read."""


@dataclass
class FrameTable:
    """Grows as frames are asked for."""

    _rows: dict[_Frame, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, parent: int, file: str, line: int, function: str, function_line: int, text: str) -> int:
        """The row of a frame called by another one; -1 as `parent` for the outermost."""
        known = "" if text == _NO_TEXT else text
        return self._rows.setdefault((parent, file, line, function, function_line, known), len(self._rows))

    def columns(self) -> dict[str, list[Any]]:
        """The table `frames` of an `OpGraph`."""
        names = ("parent", "file", "line", "function", "function_line", "text")
        return {name: [frame[i] for frame in self._rows] for i, name in enumerate(names)}
