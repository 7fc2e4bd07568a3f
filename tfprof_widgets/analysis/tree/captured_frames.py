"""Call stacks that a capture noted -> the table `frames` of an `OpGraph`, those of gradients apart.

captured_frames(source_map, ops) -> (columns, frame of each op)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Int64
from .captured_names import CapturedOps
from .code_nodes import GRADIENT


def captured_frames(source_map: SourceMap, ops: CapturedOps) -> tuple[dict[str, Any], Int64]:
    """The frames of a source map, then copies of those whose gradients ran, and the innermost frame of each op.

    An op that computes a gradient has the call stack of the op whose gradient it is, in copies marked with
    `GRADIENT`, so that a line's own cost and that of its gradient stay apart.
    """
    frames = source_map.frames
    of_source = np.append(source_map.ops["frame"].to_numpy(np.int64), -1)
    line, own = of_source[ops.line_row], of_source[ops.source_row]
    frame = np.where(line >= 0, line, own)
    parent = frames["parent"].to_numpy(np.int64)
    copied = _with_callers(parent, frame[ops.is_backward & (frame >= 0)])
    place = np.full(len(parent) + 1, -1, np.int64)
    place[copied] = len(parent) + np.arange(len(copied))
    file, line_number, function = (frames[key].to_numpy() for key in ("file", "line", "function"))
    texts = _texts(source_map, file, line_number)
    titles = np.append(shown_files(source_map), "").astype(np.object_)
    rows = np.concatenate([np.arange(len(parent)), copied])
    columns = {
        "parent": np.concatenate([parent, place[parent[copied]]]),
        "file": titles[file[rows]],
        "line": line_number[rows],
        "function": function[rows],
        "function_line": np.zeros(len(rows), np.int64),
        "text": np.concatenate([texts, texts[copied] + GRADIENT]).astype(np.object_),
    }
    return columns, np.where(ops.is_backward, place[frame], frame)


def _with_callers(parent: Int64, frames: Int64) -> Int64:
    """The rows of some frames and of all that called them, ascending."""
    wanted: Bool = np.zeros(len(parent) + 1, np.bool_)
    front = np.unique(frames)
    while len(front):  # as often as stacks are deep
        wanted[front] = True
        above = np.unique(parent[front])
        front = above[(above >= 0) & ~wanted[above]]
    return np.flatnonzero(wanted[:-1])


def _texts(source_map: SourceMap, file: Int64, line: Int64) -> Any:
    lines = [text.split("\n") if text else [] for text in source_map.files["text"]]
    found = [
        lines[at][number - 1].strip() if at >= 0 and 0 < number <= len(lines[at]) else ""
        for at, number in zip(file.tolist(), line.tolist(), strict=True)
    ]
    return np.array([*found, ""], np.object_)[:-1]


def shown_files(source_map: SourceMap) -> list[str]:
    """What to call each file: its path; of a notebook's cell what the notebook shows beside it, if no other cell has that."""
    files = source_map.files
    is_title = files["title"].str.fullmatch(r"Cell \[\d+\]").astype(bool) & ~files["title"].duplicated(keep=False)
    return np.where(is_title, files["title"], files["file"]).tolist() if len(files) else []
