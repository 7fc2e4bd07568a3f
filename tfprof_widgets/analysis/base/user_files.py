"""What a capture noted of source files -> whether the code at a path is the user's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...trace.source_map import SourceMap, is_framework_path

_LIBRARY = re.compile(r"/(site|dist)-packages/|/lib/python\d[^/]*/")
_GENERATED = re.compile(r"^<(?!ipython-input|stdin>|string>)|__autograph_generated_file")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")


@dataclass(frozen=True)
class UserFiles:
    """Whose files are, as the program that was captured knew it."""

    noted: dict[str, bool]
    """Files that the capture looked at, and whether each is the user's."""
    roots: tuple[str, ...]
    """Where its libraries lay; empty where that was not noted, and then the path alone has to tell."""

    @classmethod
    def of_map(cls, source_map: SourceMap | None) -> UserFiles:
        """What a source map tells; nothing of a trace without one."""
        if source_map is None:
            return cls({}, ())
        files = source_map.files
        noted = dict(zip(files["file"], files["is_user"].tolist(), strict=True))
        return cls(noted, tuple(root.replace("\\", "/") for root in source_map.roots["root"]))

    def has(self, path: str) -> bool:
        """Whether a file is the user's; where the capture noted nothing of it, its path tells no library."""
        if path in self.noted:
            return self.noted[path]
        path = path.replace("\\", "/")
        if not path or _GENERATED.search(path):
            return False
        if self.roots and _ABSOLUTE.match(path):
            return not any(path == root or path.startswith(f"{root}/") for root in self.roots)
        return not (_LIBRARY.search(path) or is_framework_path(path))
