"""A `Tree` -> text as TensorFlow's first profiler wrote it: an explanation, a legend, and one line per node.

Source: FormatNode() and FormatLegend() in tensorflow/core/profiler/internal/{tfprof_show,tfprof_show_multi,tfprof_op}.cc;
QueryDoc() and the formats of numbers in tfprof_utils.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..analysis.graph.nodes import COLUMN
from ..analysis.graph.options import SELECTABLE, TreeOptions, TreeView, make_tree_options
from ..analysis.graph.tree import Tree, build_tree
from ..trace.op_graph import OpGraph

TEXT_DEPTH = 100
"""How deep a text goes unless it is told: a chain of many thousand ops would be indented by as many."""
_TIMES, _MEMORY, _COUNTS = (
    [one.name for one in SELECTABLE if one.kind == kind] for kind in ("time", "memory", "count")
)
_DETAILS = ("device", "op_types", "occurrence", "input_shapes")
_OF = {one.name: one for one in SELECTABLE}
_VIEW_HELP = {
    "scope": "The nodes in the model graph are organized by their names, which is hierarchical like filesystem.",
    "graph": "The nodes in the model graph are organized by their operation input and output.",
    "code": "When python trace is available, the nodes are python lines and their are organized by the python call stack.",
    "op": "The nodes are operation kernel type, such as MatMul, Conv2D. Graph nodes belonging to the same type are aggregated "
    "together.",
}


def graph_text(graph: OpGraph, view: TreeView, options: Mapping[str, Any]) -> str:
    """The tree of a graph as text; where `max_depth` is not among the options, `TEXT_DEPTH` levels and how many that are."""
    chosen = make_tree_options(**{"max_depth": TEXT_DEPTH, **options} if view != "op" else options)
    tree = build_tree(graph, view, chosen)
    return tree_text(tree, chosen) + ("" if "max_depth" in options else depth_note(tree))


def tree_text(tree: Tree, options: TreeOptions) -> str:
    """The text of a tree, what tfprof printed or wrote to a file for the same options.

    Args:
        tree: what `build_tree` gave.
        options: those it was built with; `select` says what each line has, by default the time.

    Differs from tfprof: the graph view is explained in the words for it, not in those of the scope view; times that are
    not whole microseconds have two decimals; a share of nothing is 0 %.
    """
    chosen = ("micros",) if options.select is None else options.select
    help_texts = [f"{tree.view}: {_VIEW_HELP[tree.view]}", *(_OF[name].meaning for name in sorted(set(chosen)))]
    if len(help_texts) == 1:
        help_texts.append("")
    lines = _Lines(tree, frozenset(chosen))
    legend = f"node name | {' | '.join(lines.legend())}\n"
    rows = range(1 if tree.view == "op" else 0, len(tree.names))
    return "\nDoc:\n" + "\n".join(help_texts) + "\n\nProfile:\n" + legend + "".join(map(lines.line, rows))


def format_number(count: int) -> str:
    """A count, such as `1.50k`."""
    for limit, unit, letter in ((10**6, 1e3, "k"), (10**9, 1e6, "m")):
        if 1000 <= count < limit:
            return f"{count / unit:.2f}{letter}"
    return f"{count}" if count < 1000 else f"{count / 1e9:.2f}b"


def format_time(micros: float) -> str:
    """A time given in microseconds, such as `84.19ms`."""
    if micros < 1000:
        return f"{micros:.2f}us" if isinstance(micros, float) else f"{micros}us"
    return f"{micros / 1e3:.2f}ms" if micros < 10**6 else f"{micros / 1e6:.2f}sec"


def format_memory(n_bytes: int) -> str:
    """A number of bytes, such as `1.28KB`."""
    if n_bytes < 1000:
        return f"{n_bytes}B"
    return f"{n_bytes / 1e3:.2f}KB" if n_bytes < 10**6 else f"{n_bytes / 1e6:.2f}MB"


def format_shape(shape: tuple[int, ...] | None) -> str:
    """A shape, such as `5x64`; a single number is of shape 1."""
    return "unknown" if shape is None else "x".join(map(str, shape or (1,)))


def depth_note(tree: Tree) -> str:
    """A line that says how many nodes are shown, where the tree reaches `TEXT_DEPTH`; "" where it does not."""
    if tree.view == "op" or int(tree.depth.max(initial=0)) < TEXT_DEPTH - 1:
        return ""
    return f"{len(tree.names):,} of {tree.n_nodes:,} nodes: give max_depth= for more than {TEXT_DEPTH} levels.\n"


@dataclass(frozen=True)
class _Lines:
    """The lines of one tree."""

    tree: Tree
    chosen: frozenset[str]

    @cached_property
    def _own(self) -> list[list[float]]:
        return list(self.tree.own.tolist())

    @cached_property
    def _total(self) -> list[list[float]]:
        return list(self.tree.total.tolist())

    @cached_property
    def _ops(self) -> list[int]:
        return list(self.tree.op.tolist())

    @cached_property
    def _shapes(self) -> list[tuple[int, ...] | None]:
        return self.tree.graph.ops["shape"].tolist()

    @cached_property
    def _figures(self) -> list[str]:
        """The figures chosen, in the order of the view; with the whole time always come its two parts."""
        memory = [name for name in _MEMORY if name in self.chosen]
        times = [name for name in _TIMES if name in self.chosen or "micros" in self.chosen]
        counts = [name for name in _COUNTS if name in self.chosen]
        return [*counts, *memory, *times] if self.tree.view in ("scope", "graph") else [*memory, *times, *counts]

    @cached_property
    def _details(self) -> list[str]:
        return [name for name in _DETAILS if name in self.chosen]

    def legend(self) -> Iterator[str]:
        titles = (_OF[name].title for name in (*self._figures, *self._details))
        in_tree = self.tree.view in ("scope", "graph")
        return (title if in_tree else title.replace("op count", "op occurrence") for title in titles)

    def line(self, row: int) -> str:
        if self.tree.view == "op":
            return self._op_line(row)
        parts = [part for name in (*self._figures, *self._details) for part in self._parts(name, row)]
        return f"{'  ' * int(self.tree.depth[row])}{self.tree.names[row]} ({', '.join(parts)})\n"

    def _parts(self, name: str, row: int) -> Iterator[str]:
        """What a line of the scope, graph or code view has of one name."""
        tree = self.tree
        if name in _DETAILS:
            yield from self._detail(name, row)
            return
        shape = self._shapes[self._ops[row]] if name == "params" and self._ops[row] >= 0 else None
        if shape is not None:
            yield format_shape(shape)
        own = self._figure(name, self._own[row]) if tree.is_accounted[row] else "--"
        unit = f" {_OF[name].units[0]}" if name in _COUNTS else ""
        yield f"{own}/{self._figure(name, self._total[row])}{unit}"

    def _figure(self, name: str, figures: list[float]) -> str:
        value = figures[COLUMN[name]]
        if name in _TIMES:
            return format_time(value)
        return format_memory(int(value)) if name in _MEMORY else format_number(int(value))

    def _detail(self, name: str, row: int) -> Iterator[str]:
        tree = self.tree
        if name == "op_types":
            yield "|".join(tree.op_types[row])
        elif name == "device":
            if any(tree.devices[row]) or (tree.view == "code" and tree.devices[row]):
                yield "|".join(tree.devices[row])
        elif tree.view == "code":
            yield f"{name} N/A in code view"
        elif name == "occurrence":
            runs, defined = (
                f"{own if tree.is_accounted[row] else '--'}/{self._figure(key, self._total[row])}"
                for key, own in (("run_count", self._figure("run_count", self._own[row])), ("occurrence", "1"))
            )
            yield f"{runs}|{defined}"
        else:
            slots = tree.input_shapes[self._ops[row]] if self._ops[row] >= 0 else ()
            yield "|".join(f"{slot}:{format_shape(shape)}" for slot, shape in slots)

    def _op_line(self, row: int) -> str:
        tree = self.tree
        parts = [f"{self._shares(name, row):>30}" for name in self._figures]
        for name in self._details:
            if name == "device":
                parts.append("|".join(tree.devices[row]))
            elif name == "op_types":
                parts.append("|".join(tree.op_types[row]))
            elif name == "occurrence":
                runs, n_ops = (int(self._own[row][COLUMN[key]]) for key in ("run_count", "occurrence"))
                parts.append(f"{runs}|{n_ops}".rjust(10))
        line = f"{tree.names[row]:<25}{', '.join(parts)}\n"
        shapes = self._shapes_of_type(row) if "input_shapes" in self.chosen else ""
        return f"{line}\n{shapes}\n\n" if shapes else line

    def _shares(self, name: str, row: int) -> str:
        """The own figure of an op type, and the shares of what is from it on, and of it, in the whole."""
        column = COLUMN[name]
        own, total, whole = self._own[row][column], self._total[row][column], self._total[0][column]
        is_shown = whole > 0 and (own if name in _MEMORY else total) > 0
        shares = (100.0 * total / whole, 100.0 * own / whole) if is_shown else (0.0, 0.0)
        unit = f" {_OF[name].units[1]}" if name in _COUNTS else ""
        return f"{self._figure(name, self._own[row])}{unit} ({shares[0]:.2f}%, {shares[1]:.2f}%)"

    def _shapes_of_type(self, row: int) -> str:
        """One line per different input shapes of the ops of a type, the most often run first."""
        figures = self.tree.op_figures
        found: dict[str, list[float]] = {}
        for op in self.tree.ops_by_row[row]:
            shapes = ",\t".join(f"{slot}:{format_shape(shape)}" for slot, shape in self.tree.input_shapes[op])
            sums = found.setdefault(f"input_type: {shapes}", [0, 0, 0])
            sums[0] += 1
            sums[1] += int(figures[op, COLUMN["run_count"]])
            sums[2] += figures[op, COLUMN["micros"]].item()
        ordered = sorted(sorted(found.items()), key=lambda item: -item[1][1])
        return "\n".join(
            f"{text}\t(run*{n_runs}|defined*{n_ops})\texec_time: {format_time(micros)}"
            for text, (n_ops, n_runs, micros) in ordered
        )
