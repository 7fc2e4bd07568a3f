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
    MEDIUM_GAIN,
    Advice,
    Claim,
    Fix,
    last_part,
    line_text,
    parsed,
    rule,
    step_highlight,
    title_of,
)
from ..common import PS_PER_MS, Stretches, milliseconds, number, percent, size
from ..events import nearest_marked
from ..names import CALL
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
_WAITING = ("input", "compile")
"""Parts of a step in which no op of a loop runs, whatever is around."""


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
        run, runs = self.run, self.run.facts.occurrences
        found = self.each_turn & (self.of_unit == loop)
        rows = np.flatnonzero(found[runs.op] & (run.entry[runs.event] >= 0))
        count = np.bincount(runs.op[rows] * np.int64(len(run.steps)) + run.entry[runs.event[rows]])
        if run.steps.has_device and len(rows):
            return int(np.bincount(count[count > 0]).argmax())
        return int(count.max(initial=0))

    @cached_property
    def next_ms(self) -> Float64:
        """Of each about what it takes of the mean step: the time from each of its events to the next event of any op."""
        events = self._events
        own = np.flatnonzero(events.loop[:-1] >= 0)
        ps = (events.start[1:] - events.start[:-1])[own]
        total = np.bincount(events.loop[own], ps, len(self.name)) / PS_PER_MS
        return np.asarray(total / max(len(self.run.steps), 1), np.float64)

    def time(self, loops: Sequence[int]) -> tuple[float, float]:
        """What some of them take of the mean step, in ms, without waiting and other ops, and how long their ops compute in it
        beyond the cost of running any op."""
        events = self._events
        own, n_steps = np.isin(events.loop, loops), len(self.run.steps)
        rows = np.flatnonzero(own)
        first, last = np.full(n_steps, len(own)), np.full(n_steps, -1)
        np.minimum.at(first, events.step[rows], rows)
        np.maximum.at(last, events.step[rows], rows)
        at = np.arange(len(own) - 1)
        step = events.step[at]
        gaps = np.flatnonzero((at >= first[step]) & (at < last[step]) & (own[at] | own[at + 1]))
        spent = Stretches.of(
            np.concatenate([events.start[gaps], events.start[rows]]),
            np.concatenate([events.start[gaps + 1], events.end[rows]]),
        )
        others = ~own & events.is_op
        computing = own & events.is_op
        begin = np.minimum(events.start + int(OP_OVERHEAD_MS * PS_PER_MS), events.end)[computing]
        low = np.concatenate([events.start[others], self._waits[0]])
        high = np.concatenate([events.end[others], self._waits[1]])
        of_step = spent.start // self._width

        def left(*covers: tuple[Int64, Int64]) -> Float64:
            cover = Stretches.of(*(np.concatenate(side) for side in zip(*covers, strict=True)))
            ps = spent.end - spent.start - cover.within(spent.start, spent.end)
            return np.asarray(np.bincount(of_step, ps, n_steps) / PS_PER_MS, np.float64)

        ms = left((low, high))
        op_ms = ms - left((low, high), (begin, events.end[computing]))
        return float(ms.mean()), float(op_ms.mean())

    @cached_property
    def _width(self) -> int:
        return int(self.run.steps.frame["duration_ps"].max()) + 1

    def _moments(self, step: Int64, start_ps: Int64, end_ps: Int64) -> tuple[Int64, Int64]:
        """Times in steps on an axis on which steps of several hosts do not overlap."""
        steps = self.run.steps
        begin, most = steps.start_ps[step], (steps.end_ps - steps.start_ps)[step]
        low, high = (step * self._width + np.clip(ps - begin, 0, most) for ps in (start_ps, end_ps))
        return low, high

    @cached_property
    def _waits(self) -> tuple[Int64, Int64]:
        """Stretches of steps in which no loop runs."""
        pieces = self.run.steps.pieces
        pieces = pieces[pieces["category"].isin(_WAITING)]
        start = pieces["start_ps"].to_numpy(np.int64)
        step = np.searchsorted(self.run.steps.row, pieces["step"].to_numpy(np.int64))
        return self._moments(step, start, start + pieces["duration_ps"].to_numpy(np.int64))

    @cached_property
    def _events(self) -> _Events:
        run, runs = self.run, self.run.facts.occurrences
        is_own = self.of_unit >= 0
        counts = ~runs.is_device & (is_own | run.work.is_model | run.work.is_optimizer)
        counts &= np.array([_HOLDS_OTHERS.match(kind) is None for kind in runs.type], np.bool_)
        rows = np.flatnonzero(counts[runs.op] & (run.entry[runs.event] >= 0))
        step = run.entry[runs.event[rows]].astype(np.int64)
        start, end = self._moments(step, runs.start_ps[rows], runs.start_ps[rows] + runs.duration_ps[rows])
        ops = _Events.ordered(step, start, end, self.of_unit[runs.op[rows]], np.ones(len(rows), np.bool_))
        loops, n_steps = np.arange(len(self.name)), max(len(run.steps), 1)
        seen = np.unique(ops.loop * n_steps + ops.step) // n_steps
        silent = loops[np.bincount(seen[seen >= 0], minlength=len(loops)) < n_steps / 2]
        return ops.with_quiet(int(silent[0]), *self._quiet()) if len(silent) == 1 else ops

    def _quiet(self) -> tuple[Int64, Int64, Int64]:
        """Step, start and end of what the runtime ran without a recorded op; none where ops outside of loops may be all of it."""
        run, trace = self.run, self.run.trace
        is_process = trace.names_matching([_PROCESSES]) & (run.entry >= 0)
        holds = np.zeros(trace.n_events + 1, np.bool_)
        holds[nearest_marked(trace.nesting.parent, is_process)[run.facts.occurrences.event]] = True
        events = np.flatnonzero(is_process & ~holds[:-1])
        usual = float(np.median(np.bincount(run.entry[events], minlength=len(run.steps)))) if len(run.steps) else 0.0
        if usual < 2 * self.n_noted * max(run.calls.n_functions, 1.0):
            events = events[:0]
        step = run.entry[events].astype(np.int64)
        return step, *self._moments(step, trace.start_ps[events], trace.end_ps[events])


@dataclass(frozen=True, eq=False, repr=False)
class _Events:
    """Events of the host in steps, in order of time."""

    step: Int64
    start: Int64
    end: Int64
    loop: Int64
    """The loop that each is of, -1 for none."""
    is_op: Bool

    @classmethod
    def ordered(cls, step: Int64, start: Int64, end: Int64, loop: Int64, is_op: Bool) -> _Events:
        order = np.argsort(start, kind="stable")
        return cls(step[order], start[order], end[order], loop[order], is_op[order])

    def with_quiet(self, loop: int, step: Int64, start: Int64, end: Int64) -> _Events:
        """With those of a loop of which hardly an op is recorded: all that are not next to an op of another loop."""
        at = np.searchsorted(self.start, start)
        is_free = np.concatenate([[True], (self.loop < 0) | (self.loop == loop), [True]])
        own = np.flatnonzero(is_free[at] & is_free[at + 1])
        return _Events.ordered(
            np.concatenate([self.step, step[own]]),
            np.concatenate([self.start, start[own]]),
            np.concatenate([self.end, end[own]]),
            np.concatenate([self.loop, np.full(len(own), loop)]),
            np.concatenate([self.is_op, np.zeros(len(own), np.bool_)]),
        )


def graph_loops(run: Run, traced: TracedOps) -> GraphLoops | None:
    """The loops of the graphs that ran, None where none is known to have run."""
    ops, units = traced.source_map.ops, run.facts.occurrences.name
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
    steps, traced = run.steps, run.traced_ops
    if len(steps) < MIN_STEPS or run.eager.is_hot or traced is None:
        return
    loops = graph_loops(run, traced)
    if loops is None or (steps.has_device and run.is_compiled):
        return
    each_ms = _launch_ms(loops) if steps.has_device else loops.next_ms
    chosen = np.flatnonzero((each_ms > 0) & (each_ms >= LITTLE * each_ms.max())).tolist()
    if not chosen:
        return
    top = int(each_ms.argmax())
    ms, op_ms = (float(each_ms[chosen].sum()), 0.0) if steps.has_device else loops.time(chosen)
    part = steps.part("loop", ms - op_ms)
    gain = steps.usual_ratio(part.ms, steps.category_ms("input"))
    if gain < (HIGH_GAIN if steps.has_device else FIXED):  # on a CPU, XLA makes loops of larger ops no faster
        return
    name, row, n_iterations = loops.name[top].removesuffix("/while"), loops.row[top], loops.n_iterations(top)
    place, code = _place(traced.source_map, int(traced.source_map.ops["frame"].iloc[row])) if row >= 0 else ("", "")
    times = f" of at least {n_iterations:,} iterations" if n_iterations else ""
    told = f"{name}{f' ({place})' if place else ''}{times}"
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
    """Which rows of `attribution` the ops of some loops have or are waited for; on a CPU with what runs between ops."""
    rows, ops = run.facts.attribution, run.results.op_shares.dominant[np.isin(loops.of_unit, chosen)]
    found: Bool = np.isin(rows.op, ops) | (rows.op < 0 if not run.steps.has_device else False)
    return found


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
    rows = (run.waits.is_launch & np.isin(run.facts.attribution.op, own) for own in ops)
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
    frame, source_map = run.results.steps.frame, run.results.source_map
    compile_ms = np.where(run.results.is_averaged, 0.0, frame["compile_ms"].to_numpy(np.float64))
    part = StepPart("compile", float(compile_ms.sum()), run.results.coverage.captured_ps / PS_PER_MS)
    if source_map is None or part.ratio < MEDIUM_GAIN:
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
        compile_ms=part.ms,
        captured_ms=part.step_ms,
        compile_ratio=part.ratio,
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
        f"An array of {size(largest)}{f' ({place})' if place else ''} is a constant of the graph.",
        place,
        Fix(
            "Give the array to the function as an argument, or keep it in a tf.Variable(array, trainable=False) made once: what "
            "is a constant is copied whenever the graph is, and takes its memory several times."
        ),
    )
