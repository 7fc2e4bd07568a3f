"""Analysis -> a summary in some thirty lines for terminals and logs, and tfprof's text of a tree."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any

from ..analysis.analysis import Analysis
from ..analysis.card import TIME, Advice
from ..analysis.common import US_PER_MS, amount, head, number, percent, size, tail_of_text
from ..analysis.graph.nodes import COLUMN
from ..analysis.graph.options import SELECTABLE, TreeOptions, TreeView, make_tree_options
from ..analysis.graph.tree import Tree, build_tree
from ..analysis.overview import input_words
from ..trace.op_graph import OpGraph

_WIDTH = 96
_BAR = 24
_MOST_CHARACTERS = 300
_N_ADVICE = 3
_N_OPS = 6
_N_LINES = 5
_N_ALLOCATORS = 8


def summarize(
    results: Analysis,
    *,
    title: str = "",
    notices: Sequence[str] = (),
    spent: tuple[float, float, int] | None = None,
    since_last: str = "",
) -> str:
    """Say how long a step takes, what limits it, what to change, which ops and lines cost most, what memory and input did."""
    failure = results.memory_failure
    overview = results.overview
    known = f"{overview.verdict} {overview.verdict_detail}".rstrip() if failure is None else failure.notice
    lines = [f"tfprof {title}".rstrip(), *(f"! {notice}" for notice in notices if notice != known), ""]
    if since_last and failure is None:
        lines += [since_last, ""]
    parts = (_head, _advice, _breakdown, _ops, _lines, _memory, _input)
    measured = (tell(results) for tell in parts)
    for part in measured if failure is None else (failure.text().splitlines(), [f"  {machine_words(results)}"]):
        told = [*part]
        lines += [*told, ""] if told else []
    if spent is not None:
        start_s, stop_s, n_bytes = spent
        lines.append(
            f"The capture cost {number(start_s * 1e3)} ms to start, {number(stop_s * 1e3)} ms to stop, {size(n_bytes)}."
        )
    return "\n".join(lines).rstrip() + "\n"


def step_words(results: Analysis) -> str:
    """How long a step takes; "" without steps."""
    overview = results.overview
    if not overview.n_steps:
        return ""
    return (
        f"{number(overview.step_time_avg_ms)} ± {number(overview.step_time_std_ms)} ms a step"
        f"   ({f'{overview.batches}; ' if overview.batches else ''}{overview.n_steps_averaged} of {overview.n_steps} steps"
        f"{', inferred' if overview.is_inferred else ''}; "
        f"{number(overview.step_time_min_ms)} to {number(overview.step_time_max_ms)} ms)"
    )


def machine_words(results: Analysis) -> str:
    """What it ran on, and how much was captured."""
    environment = results.overview.environment
    return (
        environment.device_type
        + (f" × {environment.n_devices}" if environment.n_devices > 1 else "")
        + f" · {environment.n_events:,} events of {environment.n_threads} threads in {number(environment.captured_ms)} ms"
    )


def _head(results: Analysis) -> Iterator[str]:
    overview = results.overview
    if overview.n_steps:
        yield step_words(results)
    yield overview.verdict
    if overview.verdict_detail:
        yield f"  {overview.verdict_detail}"
    yield f"  {machine_words(results)}"


def _advice(results: Analysis) -> Iterator[str]:
    advice = results.advice
    if not advice:
        return
    yield f"What to change: {min(_N_ADVICE, len(advice))} of {len(advice)}"
    for one in advice[:_N_ADVICE]:
        what = f"{one.headline}: " if one.headline else ""
        yield f"  {what}{_saving(one, results.overview.step_time_avg_ms)}, {one.severity}"
        yield from textwrap.wrap(
            head(one.title, _MOST_CHARACTERS), _WIDTH, initial_indent="    ", subsequent_indent="    "
        )


def _saving(advice: Advice, step_ms: float) -> str:
    if advice.gain_ratio <= 0:
        return advice.without_gain
    bound = "up to" if advice.bound == "at most" else "about"
    if advice.share_of != "step":
        time = f" of the {TIME[advice.share_of]}"
    else:
        time = f" ({number(advice.gain_ratio * step_ms)} ms a step)" if step_ms > 0 else ""
    return f"saves {bound} {percent(advice.gain_ratio)}{time}"


def _breakdown(results: Analysis) -> Iterator[str]:
    overview = results.overview
    if not overview.n_steps:
        return
    yield "A step, on average           ms     %"
    for row in overview.breakdown.to_dict("records"):
        if row["ms"] > 0:
            label = str(row["category"]).replace("_", " ").capitalize()
            yield f"  {label:<20} {number(row['ms']):>9} {percent(row['ratio']):>6}  {_bar(row['ratio'])}"


def _ops(results: Analysis) -> Iterator[str]:
    of_steps = not results.step_ops.empty
    ops = (
        results.step_ops if of_steps else results.ops.assign(self_time_ms=results.ops["total_self_time_us"] / US_PER_MS)
    )
    if ops.empty:
        return
    top = ops.sort_values("self_time_ms", ascending=False, kind="stable").head(_N_OPS)
    yield f"Ops by self time{' a step' if of_steps else ''}: {len(top)} of {len(ops)}"
    yield f"  {'ms':>9} {'%':>6} {'count':>8}  op"
    for row in top.to_dict("records"):
        op = tail_of_text(f"{row['name']} ({row['type']}, {str(row['device']).lower()})", _WIDTH - 30)
        ms, share = number(row["self_time_ms"]), percent(row["self_time_ratio"])
        yield f"  {ms:>9} {share:>6} {amount(row['occurrences']):>8}  {op}"


def _lines(results: Analysis) -> Iterator[str]:
    frame = results.source_lines.frame
    code = frame[frame["bucket"] == ""]
    if code.empty:
        return
    top = code.sort_values("self_time_us", ascending=False, kind="stable").head(_N_LINES)
    share = code["self_time_us"].sum() / frame["self_time_us"].sum()
    yield f"Lines by self time of their ops: {len(top)} of {len(code)}, {percent(share)} of op time is charged to your code"
    for row in top.to_dict("records"):
        where = f"{PurePath(row['file']).name}:{row['line']}"
        text = f"{where:<16} {str(row['code']).strip()}"
        yield f"  {number(row['self_time_us'] / 1e3):>9} {percent(row['self_time_ratio']):>6}  {text[: _WIDTH - 20]}"


def _memory(results: Analysis) -> Iterator[str]:
    memory = results.memory
    largest = memory.summary.sort_values("peak_bytes", ascending=False, kind="stable")
    for row in largest.head(_N_ALLOCATORS).to_dict("records"):
        limit = f" of {size(row['capacity_bytes'])}" if row["capacity_bytes"] > 0 else ""
        yield (
            f"Memory {row['allocator']}: peak {size(row['peak_bytes'])}{limit} "
            f"at {number(row['peak_at_ms'])} ms, {_largest_piece(row)}{row['n_allocations']:,} allocations"
        )
        growth = memory.growth(row["allocator"])
        if growth.is_significant:
            yield f"  {growth.sentence}"
    if len(largest) > _N_ALLOCATORS:
        yield f"  ({_N_ALLOCATORS} of {len(largest)} allocators, those with the highest peaks)"
    if memory.remedy:
        yield from memory.remedy.splitlines()


def _input(results: Analysis) -> Iterator[str]:
    pipeline = results.judged_input
    yield input_words(results.overview, pipeline.verdict)
    if pipeline.bottleneck:
        yield f"  Slowest part: {pipeline.bottleneck}"
    yield from (f"  {line}" for line in pipeline.suggestion.splitlines())


def _largest_piece(row: Mapping[Any, Any]) -> str:
    free, piece = row["free_bytes"], row["largest_free_bytes"]
    if math.isnan(piece) or not free > 0:  # oneDNN's allocator does not tell
        return ""
    return f"largest free piece {size(piece)} of {size(free)} free, "


def _bar(ratio: float) -> str:
    return "█" * round(min(max(ratio, 0.0), 1.0) * _BAR)


TEXT_DEPTH = 100
"""Default depth of a text, as a chain of many thousand ops would be indented by as many."""
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
    """The text of a tree, as tfprof printed it; fractions of microseconds have two decimals, a share of nothing is 0 %."""
    chosen = ("micros",) if options.select is None else options.select
    help_texts = [f"{tree.view}: {_VIEW_HELP[tree.view]}", *(_OF[name].meaning for name in sorted(set(chosen)))]
    if len(help_texts) == 1:
        help_texts.append("")
    lines = _Lines(tree, frozenset(chosen))
    legend = f"node name | {' | '.join(lines.legend())}\n"
    rows = range(1 if tree.view == "op" else 0, len(tree.names))
    return "\nDoc:\n" + "\n".join(help_texts) + "\n\nProfile:\n" + legend + "".join(map(lines.line, rows))


def format_number(count: int) -> str:
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
        """The figures chosen, in the order of the view, the whole time with its two parts."""
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
        """The own figure of an op type, and the shares in the whole of those from it on, and of it."""
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
