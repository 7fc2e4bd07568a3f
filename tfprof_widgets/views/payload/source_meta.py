"""Source lines -> their part of the meta object of a pack; `js/src/model/source.ts` reads it."""

from __future__ import annotations

from typing import Any

from ...analysis.source.source_lines import SourceLines
from .plain import records


def source_meta(lines: SourceLines) -> dict[str, Any]:
    """The lists that ops and samples of the user's thread are charged to.

    Returns:
        `source_files` (`file`, `title`, `text`), those that a line or sample names, if any does; `source_lines`, whose
        `file` is a row of those or -1 for a bucket; `source_samples` (`file`, `line`, `n_samples`, `time_ratio`), the lines
        at which the user's thread was. A file of which only lines are known has no text.
    """
    known = lines.files.drop_duplicates("file").set_index("file")[["title", "text"]].to_dict("index")
    rows: dict[str, int] = {}
    entries = [
        {**entry, "file": -1 if entry["bucket"] else rows.setdefault(entry["file"], len(rows))}
        for entry in records(lines.entries[["file", "line", "function", "code", "bucket"]])
    ]
    samples = [
        {**sample, "file": rows.setdefault(sample["file"], len(rows))}
        for sample in records(lines.sampled[["file", "line", "n_samples", "time_ratio"]])
        if sample["file"]
    ]
    files = [{"file": path, **known.get(path, {"title": path, "text": ""})} for path in rows or known]
    return {"source_files": files, "source_lines": entries, "source_samples": samples}
