"""The messages of pprof's format, declared by hand, and what fills their tables: texts, functions, places.

Source: proto/profile.proto of github.com/google/pprof.
"""

from __future__ import annotations

from typing import Any

from ...formats.wire.messages import Messages

MESSAGES = Messages(
    "tfprof_widgets.pprof",
    {
        "ValueType": (("type", 1, "int64"), ("unit", 2, "int64")),
        "Label": (("key", 1, "int64"), ("str", 2, "int64")),
        "Sample": (
            ("location_id", 1, "uint64 repeated"),
            ("value", 2, "int64 repeated"),
            ("label", 3, "Label repeated"),
        ),
        "Mapping": (
            ("id", 1, "uint64"),
            ("filename", 5, "int64"),
            ("has_functions", 7, "bool"),
            ("has_filenames", 8, "bool"),
            ("has_line_numbers", 9, "bool"),
        ),
        "Line": (("function_id", 1, "uint64"), ("line", 2, "int64")),
        "Location": (("id", 1, "uint64"), ("mapping_id", 2, "uint64"), ("line", 4, "Line repeated")),
        "Function": (
            ("id", 1, "uint64"),
            ("name", 2, "int64"),
            ("system_name", 3, "int64"),
            ("filename", 4, "int64"),
            ("start_line", 5, "int64"),
        ),
        "Profile": (
            ("sample_type", 1, "ValueType repeated"),
            ("sample", 2, "Sample repeated"),
            ("mapping", 3, "Mapping repeated"),
            ("location", 4, "Location repeated"),
            ("function", 5, "Function repeated"),
            ("string_table", 6, "string repeated"),
            ("time_nanos", 9, "int64"),
            ("duration_nanos", 10, "int64"),
            ("comment", 13, "int64 repeated"),
            ("default_sample_type", 14, "int64"),
        ),
    },
)
_MAPPING = 1


class Tables:
    """The tables of one file, filled as they are asked for numbers; the same question gives the same number."""

    def __init__(self) -> None:
        """Begin with no text but the empty one, which the format wants first."""
        self.profile: Any = MESSAGES["Profile"]()
        self._texts: dict[str, int] = {}
        self._functions: dict[tuple[str, str, str, int], int] = {}
        self._places: dict[tuple[int, int], int] = {}
        self.text("")

    def text(self, text: str) -> int:
        """The number of a text. What no UTF-8 can hold stands as its escape."""
        number = self._texts.setdefault(text, len(self._texts))
        if number == len(self.profile.string_table):
            self.profile.string_table.append(text.encode("utf-8", "backslashreplace").decode())
        return number

    def map_program(self, name: str, *, has_lines: bool) -> None:
        """Say that all places lie in one program and need no search for their names."""
        self.profile.mapping.add(
            id=_MAPPING,
            filename=self.text(name),
            has_functions=True,
            has_filenames=has_lines,
            has_line_numbers=has_lines,
        )

    def place(self, name: str, *, system_name: str = "", file: str = "", line: int = 0, start_line: int = 0) -> int:
        """The id of a place: a line of a function, or what stands for one, such as a part of a name scope."""
        function = self._function(name, system_name or name, file, max(start_line, 0))
        key = function, max(line, 0)
        number = self._places.setdefault(key, len(self._places) + 1)
        if number > len(self.profile.location):
            location = self.profile.location.add(id=number, mapping_id=_MAPPING)
            location.line.add(function_id=function, line=key[1])
        return number

    def _function(self, name: str, system_name: str, file: str, start_line: int) -> int:
        key = name, system_name, file, start_line
        number = self._functions.setdefault(key, len(self._functions) + 1)
        if number > len(self.profile.function):
            self.profile.function.add(
                id=number,
                name=self.text(name),
                system_name=self.text(system_name),
                filename=self.text(file),
                start_line=start_line,
            )
        return number
