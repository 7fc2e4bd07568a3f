"""Rules on loops inside graphs: their ops that ran, and what they take of each step."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ...trace.arrays import Bool, Float64, Int64
from ...trace.source_map import SourceMap, parse_shapes
from ...trace.trace import ITEM_BYTES
from ..card import (
    COMPUTE,
    HIGH_GAIN,
    IDLE,
    MEDIUM_GAIN,
    Advice,
    Claim,
    Fix,
    behind,
    last_part,
    line_text,
    parsed,
    rule,
    step_highlight,
    title_of,
)
from ..common import PS_PER_MS, milliseconds, number, percent, size
from ..events import nearest_marked
from ..names import CALL
from ..steps.owners import CATEGORIES
from ..steps.spans import MIN_STEPS
from .facts import KERAS_STEPS, OP_OVERHEAD_MS, StepPart
from .run import FIXED, Run, compiled, larger_batch

if TYPE_CHECKING:
    from .causes import TracedOps


_TYPES = ("While", "StatelessWhile")
_GRADIENT = re.compile(r"_grad(?:_\d+)?\Z")
_LOWERED = re.compile(r"/(?:body|cond)/_\d+/")
"""What the runtime puts behind the name of a loop whose ops it runs with all others."""
_RENAMED = re.compile(r"_\d+\Z")
"""What it puts behind one of two equal names."""
_PROCESSES = "ExecutorState::Process"
"""What the runtime records of each op, or few of them, also of those too cheap to be recorded themselves."""
_NO_WORK = ("Const", "NoOp")
_HOLDS_OTHERS = re.compile(rf"(?:{CALL.pattern}|(?:Stateless)?(?:While|If|Case))\Z")
"""Types of ops whose time is that of the ops they run."""


@dataclass(frozen=True, eq=False, repr=False)
class GraphLoops:
    """The loops of the graphs that ran, each with its gradient."""

    run: Run
    name: tuple[str, ...]
    """Of each that of its op."""
    row: tuple[int, ...]
    """The op itself, a row of `SourceMap.ops`; -1 where several have that name."""
    of_unit: Int64
    """For each unit of `Occurrences` the loop in which it runs, -1 for none."""
    each_turn: Bool
    """Those that run once an iteration: neither in the condition, which runs once more, nor in a loop within the loop."""
    n_noted: int
    """How many ops their graphs have: no more than these run outside of loops."""

    def n_iterations(self, loop: int) -> int:
        """The least number of iterations, as not each execution of a cheap op is recorded; 0 where no op of its own is."""
        run, runs = self.run, self.run.results.occurrences
        found = self.each_turn & (self.of_unit == loop)
        rows = np.flatnonzero(found[runs.op] & (run.entry[runs.event] >= 0))
        count = np.bincount(runs.op[rows] * np.int64(len(run.steps)) + run.entry[runs.event[rows]])
        if run.steps.has_device and len(rows):
            return int(np.bincount(count[count > 0]).argmax())
        return int(count.max(initial=0))

    @cached_property
    def ms(self) -> Float64:
        """What each takes of the mean step."""
        return self._sums(self.rows[2])

    @cached_property
    def op_ms(self) -> Float64:
        """How long its ops compute in that beyond the cost of running any op."""
        row, _, ms = self.rows
        return self._sums(
            np.where(self.run.results.attribution.op[row] >= 0, np.maximum(ms - OP_OVERHEAD_MS, 0.0), 0.0)
        )

    def usual_ms(self, chosen: Sequence[int]) -> float:
        """What some take of the mean step, of none more than a usual step lasts: the rest is a stall."""
        (row, loop, ms), steps = self.rows, self.run.steps
        of_step = steps.entry_of[self.run.results.attribution.step[row]]
        each_ms = np.bincount(of_step, np.where(np.isin(loop, chosen), ms, 0.0), len(steps))
        return float(np.minimum(each_ms, steps.median_ms).mean())

    def _sums(self, ms: Float64) -> Float64:
        total = np.bincount(self.rows[1], ms, len(self.name))
        return np.asarray(total / max(len(self.run.steps), 1), np.float64)

    @cached_property
    def rows(self) -> tuple[Int64, Int64, Float64]:
        """The rows of `attribution` that loops have on a host, the loop of each and its time: runs of their ops, and what lies
        next to these, from the first in a step to the last, in which no op of the model's runs."""
        run, rows, shares = self.run, self.run.results.attribution, self.run.results.op_shares
        of_op, in_loop = np.full(len(shares.name) + 1, -1), np.flatnonzero(self.of_unit >= 0)
        of_op[shares.dominant[in_loop]] = self.of_unit[in_loop]
        holds = np.array([_HOLDS_OTHERS.match(kind) is not None for kind in shares.type], np.bool_)
        is_op = np.append(~run.results.op_scopes.is_input & ~holds, False)[rows.op] & ~rows.is_wait
        between = np.isin(rows.category, [CATEGORIES.index(one) for one in (*IDLE, "host_compute")])
        at = np.flatnonzero((is_op | between) & (run.steps.entry_of[rows.step] >= 0))
        at = at[np.lexsort((rows.start_ps[at], rows.step[at]))]
        ran, step, place = is_op[at], rows.step[at], np.arange(len(at))
        before = np.maximum.accumulate(np.where(ran, place, -1)) if len(at) else at
        after = np.minimum.accumulate(np.where(ran, place, len(at))[::-1])[::-1] if len(at) else at
        own = np.append(np.where(ran, of_op[rows.op[at]], -1), -1)
        sides = [np.where(np.append(step, -1)[one] == step, own[one], -1) for one in (before, after)]
        loop = np.where(sides[0] >= 0, sides[0], sides[1])
        first, last = np.full(run.steps.n_all, np.iinfo(np.int64).max), np.zeros(run.steps.n_all, np.int64)
        ops = np.flatnonzero(own[:-1] >= 0)
        events = [(step[ops], rows.start_ps[at[ops]], rows.end_ps[at[ops]])]
        seen = [np.unique(step[own[:-1] == one]) for one in range(len(self.name))]
        silent = [one for one, steps in enumerate(seen) if len(steps) < len(run.steps)]
        if len(silent) == 1:  # TensorFlow may record its ops in some steps alone
            of_step, start_ps, end_ps = self._quiet()
            unseen = ~np.isin(of_step, seen[silent[0]])
            events.append((of_step[unseen], start_ps[unseen], end_ps[unseen]))
            loop = np.where(~ran & (loop < 0) & np.isin(step, events[1][0]), silent[0], loop)
        for of_step, start_ps, end_ps in events:
            np.minimum.at(first, of_step, start_ps)
            np.maximum.at(last, of_step, end_ps)
        at, loop, step = at[loop >= 0], loop[loop >= 0], step[loop >= 0]
        start, end = rows.start_ps[at], rows.end_ps[at]
        inside = np.maximum(np.minimum(end, last[step]) - np.maximum(start, first[step]), 0) / np.maximum(
            end - start, 1
        )
        return at, loop, rows.time_ps[at] * inside / PS_PER_MS

    def _quiet(self) -> tuple[Int64, Int64, Int64]:
        """Step, start and end of what ran without a recorded op, of steps where ops outside of loops are not all of it."""
        run, trace = self.run, self.run.trace
        is_process = trace.names_matching([_PROCESSES]) & (run.entry >= 0)
        holds = np.zeros(trace.n_events + 1, np.bool_)
        holds[nearest_marked(trace.nesting.parent, is_process)[run.results.occurrences.event]] = True
        events = np.flatnonzero(is_process & ~holds[:-1])
        entry = run.entry[events]
        is_loop = np.bincount(entry, minlength=len(run.steps)) >= 2 * self.n_noted * max(run.calls.n_functions, 1.0)
        events = events[is_loop[entry]]
        return run.steps.row[run.entry[events]], trace.start_ps[events], trace.ends(events)


def graph_loops(run: Run, traced: TracedOps) -> GraphLoops | None:
    """The loops of the graphs that ran, None where none is known to have run."""
    ops, units = traced.source_map.ops, run.results.occurrences.name
    graphs, names = ops["graph"].to_numpy(), ops["op"].to_numpy(object)
    own_row = traced.row.to_numpy()[run.results.op_shares.dominant]
    graph = np.where(own_row >= 0, np.append(graphs, -1)[own_row], -1)
    is_running, is_loop = np.isin(graphs, graph[graph >= 0]), ops["type"].isin(_TYPES).to_numpy()
    of_keras = [any(word in name for word in KERAS_STEPS) for name in traced.source_map.functions["graph"]]
    is_loop = is_loop & ~(
        (names == "while") & np.isin(graphs, np.flatnonzero(of_keras))
    )  # that of `steps_per_execution`
    rows: dict[str, list[int]] = {}
    for row in np.flatnonzero(is_loop).tolist():
        rows.setdefault(names[row], []).append(row)
    number: dict[tuple[str, str], int] = {}
    ran = Counter[tuple[str, int]]()
    of_unit, each_turn = np.full(len(units), -1, np.int64), np.zeros(len(units), np.bool_)
    for unit, (path, own) in enumerate(zip(units, graph.tolist(), strict=True)):  # one turn per unique name
        before, name, inside = _around(path, rows)
        if name:
            each_turn[unit] = inside.startswith("/body/") and _LOWERED.search(inside, 1) is None
            of_unit[unit] = number.setdefault((before, _forward(name, rows)), len(number))
        elif own >= 0:
            ran[path.removesuffix(names[own_row[unit]]), own] += 1
    found = [_likeliest(rows[name], [ran[before, graphs[row]] for row in rows[name]]) for before, name in number]
    recorded = {name for _, name in number}
    silent = [
        row
        for row in np.flatnonzero(is_running & is_loop).tolist()
        if _forward(names[row], rows) == names[row] not in recorded
        and not any(names[row].startswith(f"{one}/") for one in rows)
    ]
    n_noted = int((is_running & ~ops["type"].isin(_NO_WORK).to_numpy()).sum())
    loops = [name for _, name in number] + [names[row] for row in silent]
    return GraphLoops(run, tuple(loops), (*found, *silent), of_unit, each_turn, n_noted) if loops else None


def _forward(name: str, names: Iterable[str]) -> str:
    """The loop of whose gradient a loop is the loop, else itself: a gradient's name ends in that of the loop."""
    path = f"/{_GRADIENT.sub('', name)}"
    return max((one for one in names if one != name and path.endswith(f"/{one}")), key=len, default=name)


def _around(path: str, names: Iterable[str]) -> tuple[str, str, str]:
    """The outermost of some loops around an op, between what is before and behind it in the op's name; "" for none."""
    for inside in _LOWERED.finditer(path):
        outer = path[: inside.start()]
        for known in (outer, _RENAMED.sub("", outer)):
            name = max((one for one in names if f"/{known}".endswith(f"/{one}")), key=len, default="")
            if name:
                return known.removesuffix(name), name, path[inside.start() :]
    return "", "", ""


def _likeliest(rows: Sequence[int], n_ran: Sequence[int]) -> int:
    """Which of the loops of a name it is: that of the graph of most ops around it, -1 where none of them tells."""
    most = int(np.argmax(n_ran))
    return rows[most] if len(rows) == 1 or n_ran[most] > sum(n_ran) / 2 else -1


HARDLY_MS = 0.1
"""Work of less than this has no figure."""
LITTLE = 0.1
"""Of the costliest loop: what takes less is not spoken of."""


@rule(
    "Do without the loop, or compile it",
    claims=(*COMPUTE, "dispatch", "kernel_launch"),
    explains=("few_blocks", "busy", "launch_bound", "small_batch"),
)
def graph_loop(run: Run) -> Iterator[Advice]:
    """A loop of TensorFlow runs small ops in turn; gain: what its ops do not compute, of a device its waits for launches."""
    steps, traced = run.steps, run.graph
    if len(steps) < MIN_STEPS or run.eager.is_hot or not traced.is_noted:
        return
    loops = graph_loops(run, traced)
    if loops is None or (steps.has_device and run.is_compiled):
        return
    each_ms = _launch_ms(loops) if steps.has_device else loops.ms
    chosen = np.flatnonzero((each_ms > 0) & (each_ms >= LITTLE * each_ms.max())).tolist()
    if not chosen:
        return
    top = int(each_ms.argmax())
    ms, op_ms = float(each_ms[chosen].sum()), 0.0 if steps.has_device else float(loops.op_ms[chosen].sum())
    part = steps.part("loop", ms - op_ms)
    most_ms = part.ms if steps.has_device else min(loops.usual_ms(chosen) - op_ms, part.ms)
    gain = steps.usual_ratio(most_ms, steps.category_ms("input"))
    if gain < (HIGH_GAIN if steps.has_device else FIXED):  # on a CPU, XLA makes loops of larger ops no faster
        return
    name, row, n_iterations = loops.name[top].removesuffix("/while"), loops.row[top], loops.n_iterations(top)
    place, code = _place(traced.source_map, int(traced.source_map.ops["frame"].iloc[row])) if row >= 0 else ("", "")
    times = f" of at least {n_iterations:,} iterations" if n_iterations else ""
    told = f"{name}{behind(place)}{times}"
    others = " and other loops" if len(chosen) > 1 else ""
    computes = f"for {number(op_ms)} ms" if op_ms >= HARDLY_MS else "next to nothing"
    yield run.advise(
        f"The {steps.device} waits {part} between the kernels of the loop {told}{others}: they are launched one by one."
        if steps.has_device
        else f"The loop {told}{others} {'take' if others else 'takes'} about {number(ms)} of {number(part.step_ms)} ms a step; "
        f"{'their' if others else 'its'} ops compute {computes}, the rest is running them one by one.",
        part,
        _without_loop(run, code, _classes(run, loops, top)),
        gain=gain,
        claim=Claim(_rows_of(run, loops, chosen)),
        op_ms=op_ms,
        loop=name,
        iterations=n_iterations or "",
        line=place,
    )


def _rows_of(run: Run, loops: GraphLoops, chosen: Sequence[int]) -> Bool:
    """Which rows of `attribution` some loops have, of a device those that wait for their ops."""
    rows = run.results.attribution
    if run.steps.has_device:
        return np.isin(rows.op, run.results.op_shares.dominant[np.isin(loops.of_unit, chosen)])
    row, loop, _ = loops.rows
    return np.isin(np.arange(len(rows)), row[np.isin(loop, chosen)])


_JACOBIAN = re.compile(r"\.(?:batch_)?jacobian\(")
_SCAN = re.compile(r"\bscan\(")
_RECURRENCE = (
    "Where an iteration adds to a multiple of the last, as for a moving average or a discounted sum, all of them are one product "
    "with a matrix of the decay (tf.einsum), one convolution, or tf.cumsum, without a loop."
)
_MAPPED = "Where an iteration needs nothing of those before, tf.vectorized_map in place of tf.map_fn has no loop."
_TRY = "Then try jit_compile=True, and measure: XLA on a CPU makes some loops faster, others half as fast."


def _classes(run: Run, loops: GraphLoops, loop: int) -> frozenset[str]:
    """The classes of the layers whose ops a loop runs."""
    layers, ops = run.results.layers, run.results.op_shares.dominant[loops.of_unit == loop]
    return frozenset(layers.entries["class_name"].iloc[np.unique(layers.op_entry[ops])].tolist())


def _without_loop(run: Run, code: str, classes: frozenset[str]) -> Fix:
    """What has no loop, by the text of its line and its layer."""
    own = next((one for one in ("LSTM", "GRU") if one in classes), "")
    if own and run.steps.has_device:
        words = (
            f"Keras has cuDNN compute a whole {own} in one kernel, unless recurrent_dropout, unroll, another activation or a "
            "mask of sequences not padded at their end keep it from that: leave these out, which may train differently."
        )
        return Fix(f"{words} Or: {compiled(run).words}" if run.can_be_compiled else words)
    if _JACOBIAN.search(code):
        return Fix("Compute all gradients at once: jacobian(..., experimental_use_pfor=True), which is the default.")
    if "vectorized_map(" in code:
        return Fix("vectorized_map runs in a loop what it cannot do for all at once: write that for a whole batch.")
    first = _RECURRENCE if _SCAN.search(code) else _MAPPED if "map_fn(" in code or not run.has_layers else ""
    more = f"{first} {larger_batch(run)}".lstrip()
    if not run.can_be_compiled:
        return Fix(more)
    return compiled(run, "one program, the loop with it").also(more) if run.steps.has_device else Fix(more).also(_TRY)


def _launch_ms(loops: GraphLoops) -> Float64:
    """How long devices wait for launches of the kernels of each loop in a usual step."""
    run = loops.run
    ops = [run.results.op_shares.dominant[loops.of_unit == loop] for loop in range(len(loops.name))]
    rows = (run.waits.is_launch & np.isin(run.results.attribution.op, own) for own in ops)
    return np.array([float(np.median(run.waits.ms(own))) for own in rows], np.float64)


def _place(source_map: SourceMap, frame: int) -> tuple[str, str]:
    """The user's innermost line in a traceback, and its text."""
    for file, line in user_frames(source_map, frame):
        text = str(source_map.files["text"].iloc[file])
        return f"{last_part(title_of(source_map, file))}:{line}", line_text(text, line)
    return "", ""


def user_frames(source_map: SourceMap, frame: int, until: str = "") -> Iterator[tuple[int, int]]:
    """File and line of the user's in a traceback, the innermost first, up to a function of some name."""
    columns = (source_map.frames[name].to_numpy() for name in ("file", "line", "parent", "function"))
    files, lines, parents, functions = columns
    while frame >= 0:  # a parent is always an earlier row
        name = functions[frame]
        if files[frame] >= 0 and source_map.files["is_user"].iloc[files[frame]]:
            yield int(files[frame]), int(lines[frame])
        frame = parents[frame]
        if name == until and (frame < 0 or functions[frame] != until):
            return


@rule("Make the graph smaller", share_of="time captured", scope="program", explains=("compilation",))
def large_graph(run: Run) -> Iterator[Advice]:
    """A large graph is traced in steps that no average counts, as a loop of Python put its body into it again and again, or an
    array became a constant; gain: its share of the time captured."""
    frame, source_map = run.results.steps.frame, run.source_map
    compile_ms = np.where(run.results.is_averaged, 0.0, frame["compile_ms"].to_numpy(np.float64))
    part = StepPart("compile", float(compile_ms.sum()), run.results.coverage.captured_ps / PS_PER_MS)
    if part.ratio < MEDIUM_GAIN:
        return
    why, place, fix = _unrolled(source_map) or _large_constant(source_map) or ("", "", Fix())
    if not why:
        return
    yield run.advise(
        f"{why} Tracing and compiling take {milliseconds(part.ms)} of the {milliseconds(part.step_ms)} captured "
        f"({percent(part.ratio)}).",
        None,
        fix,
        step_highlight(frame, int(compile_ms.argmax()), view="step_chart"),
        gain=part.ratio,
        line=place,
    )


MIN_COPIES = 50
"""So many ops of one type at one line were made by a loop of Python, rather than by layers in a row."""
_MUCH = 0.1
"""Of the ops of all graphs."""


def _unrolled(source_map: SourceMap) -> tuple[str, str, Fix] | None:
    ops, graphs = source_map.ops, source_map.functions["graph"]
    copies = ops[ops["frame"] >= 0].groupby(["graph", "frame", "type"], as_index=False).size()
    found: dict[str, list[int]] = {}
    many = copies[copies["size"] >= MIN_COPIES]
    for graph, frame, n in zip(
        *(many[name].tolist() for name in ("graph", "frame", "size")), strict=True
    ):  # one turn a line
        inside = [*user_frames(source_map, frame, str(graphs.iloc[graph]))]
        places = [place for file, line in inside if (place := _range_loop(source_map, file, line))]
        if places:
            found.setdefault(places[-1], []).append(n)
    place = max(found, key=lambda one: sum(found[one]), default="")
    if not place or sum(found[place]) < _MUCH * len(ops):
        return None
    ((n_copies, _),) = Counter(found[place]).most_common(1)
    return (
        f"The loop at {place} is unrolled: the graph has its body {n_copies:,} times.",
        place,
        Fix(
            "Loop over tf.range in place of range, what it collects in a tf.TensorArray, or make it a keras.layers.RNN: the "
            "graph has the body once then."
        ),
    )


def _range_loop(source_map: SourceMap, file: int, line: int) -> str:
    """The place of the outermost loop over a range, in one function, in which a line is; "" for none."""
    tree = parsed(str(source_map.files["text"].iloc[file]))
    nodes = (one for one in (ast.walk(tree) if tree else ()) if isinstance(one, (ast.For, ast.FunctionDef, ast.Lambda)))
    inside = [one for one in nodes if one.lineno <= line <= (one.end_lineno or 0)]
    defined = max((one.lineno for one in inside if not isinstance(one, ast.For)), default=0)
    loops = (one for one in inside if isinstance(one, ast.For) and ast.unparse(one.iter).startswith("range("))
    first = min((one.lineno for one in loops if one.lineno > defined), default=0)
    return f"{last_part(title_of(source_map, file))}:{first}" if first else ""


LARGE_CONSTANT = 2**24
"""Bytes of an array that a graph has from outside; what is written in a program is smaller."""


def _large_constant(source_map: SourceMap) -> tuple[str, str, Fix] | None:
    details = source_map.details
    constants = details[(source_map.ops["type"].to_numpy() == "Const")[details["op"].to_numpy()]]
    shapes = (next(iter(parse_shapes(text)), None) for text in constants["output_shapes"])
    n_bytes = [
        prod(shape or (0,)) * ITEM_BYTES.get(dtype, 0) for shape, dtype in zip(shapes, constants["dtype"], strict=True)
    ]
    largest = max(n_bytes, default=0)
    if largest < LARGE_CONSTANT:
        return None
    row = int(constants["op"].iloc[n_bytes.index(largest)])
    place, _ = _place(source_map, int(source_map.ops["frame"].iloc[row]))
    return (
        f"An array of {size(largest)}{behind(place)} is a constant of the graph.",
        place,
        Fix(
            "Give the array to the function as an argument, or keep it in a tf.Variable(array, trainable=False) made once: what "
            "is a constant is copied whenever the graph is, and takes its memory several times."
        ),
    )
