"""The tree of a view -> a file of pprof's format, which `pprof`, speedscope and other viewers of flame graphs open."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..analysis.common import PS_PER_NS
from ..analysis.graph.nodes import NO_STACK
from ..analysis.graph.op_graph import GRADIENT
from ..analysis.graph.options import FIGURES, UNLIMITED, TreeOptions, make_tree_options
from ..analysis.graph.tree import build_tree
from ..read.protobuf import Messages
from .files import replacing

if TYPE_CHECKING:
    from ..analysis.analysis import Analysis
    from ..analysis.graph.options import TreeView
    from ..analysis.graph.tree import Tree


MESSAGES = Messages(
    "tfprof_widgets.pprof",
    """
ValueType: type 1 int64, unit 2 int64
Label: key 1 int64, str 2 int64
Sample: location_id 1 uint64 repeated, value 2 int64 repeated, label 3 Label repeated
Mapping: id 1 uint64, filename 5 int64, has_functions 7 bool, has_filenames 8 bool, has_line_numbers 9 bool
Line: function_id 1 uint64, line 2 int64
Location: id 1 uint64, mapping_id 2 uint64, line 4 Line repeated
Function: id 1 uint64, name 2 int64, system_name 3 int64, filename 4 int64, start_line 5 int64
Profile: sample_type 1 ValueType repeated, sample 2 Sample repeated, mapping 3 Mapping repeated,
    location 4 Location repeated, function 5 Function repeated, string_table 6 string repeated,
    time_nanos 9 int64, duration_nanos 10 int64, comment 13 int64 repeated, default_sample_type 14 int64
""",
)
_MAPPING = 1


class Tables:
    """The tables of one file, filled as they are asked for numbers; the same question gives the same number."""

    def __init__(self) -> None:
        """Start with the empty text, which the format wants first."""
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


NOT_SHOWN = "<not shown>"
"""The place of what the root counts and no node below it shows."""


def own_values(tree: Tree, figure: str) -> NDArray[np.int64]:
    """What each node counts less the nodes below it, in whole numbers that sum to the root's, by carrying what is rounded."""
    total = tree.column(figure, is_total=True)
    below = np.zeros_like(total)
    np.add.at(below, tree.parent[1:], total[1:])
    if not np.issubdtype(total.dtype, np.floating):
        return (total - below).astype(np.int64)
    reached = np.maximum.accumulate(np.cumsum(total - below))
    reached[-1:] = total[:1]
    return np.diff(np.rint(reached), prepend=0).astype(np.int64)


class Stacks:
    def __init__(self, tables: Tables, tree: Tree, *, of_root: str = NOT_SHOWN) -> None:
        """Stacks of `tree`; their places go into `tables`. What the root alone counts is at the place `of_root`."""
        self._tables, self._view, self._names, self._of_root = tables, tree.view, tree.names, of_root
        self._parent: list[int] = tree.parent.tolist()
        self._frame: list[int] = tree.stack_frame.tolist()
        self._lines = tree.graph.frames
        self._place: dict[int, int] = {}

    def places(self, row: int) -> list[int]:
        """Ids of the places of a node, its own first, the outermost last."""
        if row == 0:
            return [self._tables.place(self._of_root)]
        if self._view == "op":
            return [self._at(row)]
        found = []
        while row > 0:
            found.append(self._at(row))
            row = self._parent[row]
        return found

    def _at(self, row: int) -> int:
        if row not in self._place:
            self._place[row] = self._line(row) if self._view == "code" else self._part(row)
        return self._place[row]

    def _part(self, row: int) -> int:
        """An op, an op type, or what a scope adds to the name of the one around it."""
        name = self._names[row]
        above = f"{self._names[self._parent[row]]}/"
        shown = name.removeprefix(above) if self._view == "scope" and self._parent[row] > 0 else name
        return self._tables.place(shown, system_name=name)

    def _line(self, row: int) -> int:
        """A line of code; without one its name."""
        if self._frame[row] < 0:
            return self._tables.place(self._names[row])
        line = self._lines.iloc[self._frame[row]]
        function = str(line["function"]) or self._names[row]
        return self._tables.place(
            f"{function}{GRADIENT}" if self._names[row].endswith(GRADIENT) else function,
            file=str(line["file"]),
            line=int(line["line"]),
            start_line=int(line["function_line"]),
        )


SAMPLE_TYPES = ("micros", "accelerator_micros", "bytes")
"""Of every file; others that `select` names follow."""
_UNITS = {"params": "count", "float_ops": "count", "occurrence": "count"}
_VIEWS = {"scope": "name scope", "graph": "what feeds what", "op": "op type", "code": "call stack"}
_LABELS = ("device", "op_types")
_DEEPEST = {"graph": 100}
"""A chain of ops is as long as the program, and each stack would repeat it: deeper ones count at the last one shown."""
_LEVEL = 6


def write_pprof(results: Analysis, path: str | Path, view: TreeView, options: Mapping[str, Any]) -> Path:
    """Write the file, always compressed, as readers of the format expect. The same profile gives the same bytes."""
    deepest = _DEEPEST.get(view, UNLIMITED)
    tree = build_tree(results.op_graph, view, make_tree_options(**{"max_depth": deepest, **options}))
    if is_unknown := view == "code" and tree.n_nodes == 1:
        # A file with nothing in it would help nobody: all costs, at one place that says what is missing.
        tree = build_tree(results.op_graph, "scope", make_tree_options(**{**options, "max_depth": 0}))
    profile = _profile(results, tree, of_root=NO_STACK if is_unknown else NOT_SHOWN)
    content = profile.SerializeToString(deterministic=True)
    target = Path(path).expanduser()
    with replacing(target, packs=False) as file:
        file.write(gzip.compress(content, _LEVEL, mtime=0))  # no time inside: the same profile gives the same bytes
    return target


def _profile(results: Analysis, tree: Tree, *, of_root: str) -> Any:
    tables = Tables()
    profile = tables.profile
    known = (*FIGURES, "occurrence")
    types = list(dict.fromkeys((*SAMPLE_TYPES, *(name for name in _selected(tree.options) if name in known))))
    for name in types:
        unit = _UNITS.get(name, "microseconds" if name.endswith("micros") else "bytes")
        profile.sample_type.add(type=tables.text(name), unit=tables.text(unit))
    profile.default_sample_type = tables.text(
        next((name for name in _selected(tree.options) if name in types), types[0])
    )
    tables.profile.mapping.add(
        id=_MAPPING,
        filename=tables.text("TensorFlow program"),
        has_functions=True,
        has_filenames=(tree.view == "code"),
        has_line_numbers=(tree.view == "code"),
    )
    values = np.column_stack([own_values(tree, name) for name in types])
    stacks = Stacks(tables, tree, of_root=of_root)
    labels = [(tables.text(name), _texts(tree, name)) for name in _LABELS if name in _selected(tree.options)]
    for row in np.flatnonzero(values.any(axis=1)).tolist():  # some thousand nodes, however long the capture
        sample = profile.sample.add(location_id=stacks.places(row), value=values[row].tolist())
        for key, texts in labels:
            if texts[row]:
                sample.label.add(key=key, str=tables.text(texts[row]))
    for sentence in _comments(tree):
        profile.comment.append(tables.text(sentence))
    profile.time_nanos = max(int(results.trace.origin_ns), 0)
    profile.duration_nanos = (
        int(results.trace.end_ps.max() - results.trace.start_ps.min()) // PS_PER_NS if results.trace.n_events else 0
    )
    return profile


def _selected(options: TreeOptions) -> tuple[str, ...]:
    return options.select or ()


def _texts(tree: Tree, name: str) -> list[str]:
    return [text if isinstance(text, str) else ", ".join(map(str, text)) for text in tree.frame[name]]


def _comments(tree: Tree) -> list[str]:
    graph, options = tree.graph, tree.options
    is_average = graph.counts_steps if options.average is None else options.average
    found = [f"Costs of TensorFlow ops by {_VIEWS[tree.view]}, written by tfprof_widgets."]
    if options.step >= 0:
        found.append(f"Of step {options.step}.")
    elif graph.steps:
        found.append(f"{'Averages' if is_average else 'Sums'} over {len(graph.steps)} steps.")
    if len(tree.names) < tree.n_nodes:
        found.append(f"{len(tree.names)} of {tree.n_nodes} nodes are shown; what others cost is at those above them.")
    if tree.view == "code" and graph.counts_steps and (n_missing := int((graph.ops["frame"] < 0).sum())):
        found.append(f"{n_missing} of {len(graph.ops)} ops have no known call stack and are not counted, as in tfprof.")
    return found
