"""Source lines -> their part of the meta object of a pack; `js/src/model/ops/source_lines.ts` reads it."""

from __future__ import annotations

from typing import Any

from ...analysis.source.source_lines import SourceLines


def source_meta(lines: SourceLines) -> dict[str, Any]:
    """The lists that ops and samples of the user's thread are charged to.

    Returns:
        `source_files` (`file`, `title`, `text`), those that a line or sample names, if any does; `source_lines`, whose
        `file` is a row of those or -1 for a bucket; `source_samples` (`file`, `line`, `n_samples`, `time_ratio`), the lines
        at which the user's thread was. A file of which only lines are known has no text.
    """
    files = _Files(lines)
    entries = []
    columns = [lines.entries[name].tolist() for name in ("file", "line", "function", "code", "bucket")]
    for path, line, function, code, bucket in zip(*columns, strict=True):  # bounded by the lines that ran ops
        row = -1 if bucket else files.row(path)
        entries.append({"file": row, "line": int(line), "function": function, "code": code, "bucket": bucket})
    samples = [
        {"file": files.row(path), "line": int(line), "n_samples": int(n), "time_ratio": float(ratio)}
        for path, line, n, ratio in zip(
            *(lines.sampled[name].tolist() for name in ("file", "line", "n_samples", "time_ratio")), strict=True
        )
        if path
    ]
    return {"source_files": files.listed(), "source_lines": entries, "source_samples": samples}


class _Files:
    """The files that lines name, in the order in which they do."""

    def __init__(self, lines: SourceLines) -> None:
        columns = [lines.files[name].tolist() for name in ("file", "title", "text")]
        self._known: dict[str, dict[str, str]] = {}
        for path, title, text in zip(*columns, strict=True):  # of equal paths the first counts
            self._known.setdefault(path, {"file": path, "title": title, "text": text})
        self._rows: dict[str, int] = {}

    def row(self, path: str) -> int:
        """The row of a path among `listed`."""
        return self._rows.setdefault(path, len(self._rows))

    def listed(self) -> list[dict[str, str]]:
        """The files by row; all that are known where no line names one."""
        return [self._known.get(path, {"file": path, "title": path, "text": ""}) for path in self._rows or self._known]
