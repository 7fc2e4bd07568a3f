"""What tf.data ran -> the user's function that it runs longest, of those that belong to the running pipeline."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Float64
from ..base.frame_places import FrameTable, frame_places
from .code_places import line_text, place_of
from .code_text import named, one_line

if TYPE_CHECKING:
    from .run import Run

RAN = 0.8
"""A function belongs to the running pipeline where so large a part of its ops ran, compared with the one of which most did;
graph rewriting leaves out, fuses and renames some."""
DATA_GRAPH = re.compile(r"Dataset_")
_MAY_NOT_RUN = frozenset(("Const", "Identity", "NoOp", "Placeholder", "_Arg", "_Retval"))
"""Types of ops that a graph has but the executor may not run, or not as such."""

_Op = tuple[str, str]
"""Name and type."""


@dataclass(frozen=True)
class MappedFunction:
    """A line of a function that was given to a dataset."""

    name: str
    place: str
    """`train.py:7`, or `Cell [3]:7`."""
    code: str
    """Its text without indentation, empty where it is not known."""
    line: int = 0
    """The same line, in the file of its text."""

    @property
    def words(self) -> str:
        """What a sentence calls it."""
        return f"{named(self.name, 'the lambda')} ({one_line(self.place)})"


def mapped_function(run: Run) -> MappedFunction | None:
    """Find it: of the line that takes most of the time in ops of the input.

    A trace does not say to which function an op belongs, and a program may have several datasets whose functions have ops of
    the same names. Those of which too few ops ran are left out, and those that another one explains better; where more than
    one line is left, None is better than a wrong one.
    """
    own_us = np.where(run.results.op_scopes.is_input, run.results.op_totals.self_us, 0.0)
    op = _costliest_op(run, own_us)
    source_map = run.results.source_map
    if op < 0 or source_map is None:
        return None
    shares = run.results.op_shares
    ran = {(shares.name[i], shares.type[i]) for i in np.flatnonzero(own_us > 0).tolist()}
    lines = _lines_of(source_map, (shares.name[op], shares.type[op]), ran)
    row = run.results.source_lines.entries.iloc[int(run.results.source_lines.op_entry[op])]
    charged = str(row["file"]), int(row["line"]), str(row["function"])
    if len({(file, line) for file, line, _ in lines}) > 1:
        return None
    file, line, function = min(lines, default=charged)
    texts = source_map.files["text"][source_map.files["file"] == file]
    code = line_text(str(texts.iloc[-1]), line) if len(texts) else ""
    return MappedFunction(function, place_of(source_map, file, line), code, line)


def _costliest_op(run: Run, own_us: Float64) -> int:
    """The op that takes most time at the line that takes most; -1 where no line of the user's is known."""
    lines = run.results.source_lines
    entry = lines.op_entry
    time_us = np.bincount(entry, own_us[: len(entry)], minlength=len(lines.entries))
    time_us[(lines.entries["bucket"] != "").to_numpy()] = 0.0
    if not len(time_us) or time_us.max() <= 0:
        return -1
    is_there: Bool = entry == int(time_us.argmax())
    return int(np.where(is_there, own_us[: len(entry)], -1.0).argmax())


def _lines_of(source_map: SourceMap, op: _Op, ran: set[_Op]) -> set[tuple[str, int, str]]:
    """File, line and function of an op in each function of a dataset that may have been running."""
    names, types = source_map.ops["op"].tolist(), source_map.ops["type"].tolist()
    graphs, frames = source_map.ops["graph"].tolist(), source_map.ops["frame"].tolist()
    is_data = {row for row, name in enumerate(source_map.functions["graph"]) if DATA_GRAPH.match(name)}
    of_graph: dict[int, set[_Op]] = {}
    for graph, name, kind in zip(graphs, names, types, strict=True):  # bounded by the sidecar's rows
        if graph in is_data and kind not in _MAY_NOT_RUN:
            of_graph.setdefault(graph, set()).add((name, kind))
    running = _running({graph: ops for graph, ops in of_graph.items() if op in ops}, ran)
    table = FrameTable.of_map(source_map)
    user = frame_places(table).user_frame
    rows = zip(graphs, names, types, frames, strict=True)
    own = {int(user[at]) for graph, name, kind, at in rows if graph in running and (name, kind) == op and at >= 0}
    return {(table.path[at], table.line[at], table.function[at]) for at in own if at >= 0}


def _running(graphs: dict[int, set[_Op]], ran: set[_Op]) -> set[int]:
    """Of functions that all have the op in question those that may have been running."""
    share = {graph: len(ops & ran) / len(ops) for graph, ops in graphs.items()}
    most = max(share.values(), default=0.0)
    likely = {graph: graphs[graph] & ran for graph in graphs if share[graph] >= RAN * most}
    return {graph for graph, ops in likely.items() if not any(ops < others for others in likely.values())}
