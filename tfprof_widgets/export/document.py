"""`Subject` -> the parts of a report: figures, advice, structure, limits, as Markdown."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..analysis.advice.rules import RULES
from ..analysis.analysis import Analysis
from ..analysis.card import TIME, Advice, Highlight
from ..analysis.common import PS_PER_MS, PS_PER_NS, ends, number, plural, size
from ..analysis.graph.op_graph import GRADIENT
from ..analysis.graph.options import make_tree_options
from ..analysis.graph.tree import Tree, build_tree
from ..analysis.steps.steps import ran_on_device
from ..analysis.table import unit_of
from ..analysis.verdict import MARKING

if TYPE_CHECKING:
    from ..analysis.steps.steps import CaptureSummary


_GROWTH = 2
"""Escaped text has at most so many times as many bytes as there are characters to spare."""
_READ = 8
"""Of a longer text only so many times the wanted characters are read."""
_STRUCTURE = frozenset("\\`*[<|~$")
_OUTSIDE_WORDS = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_ENTITY = re.compile(r"&(?=#|\w)")
_ADDRESS = re.compile(r"(?<=\w):(?=//)|(?<=\bwww)\.|(?<=\w)@(?=\w)", re.IGNORECASE)
_LINE_START = re.compile(r"^([-+=>#]|\d+(?=[.)](?:\s|$)))")
_FORMULA = re.compile(r"((?:\$|\\(?:[][()]|begin|end|ref|eqref))+)")
"""What MathJax takes for the begin of one."""
_CODE = re.compile(r"`([^`]+)`")
_BREAKS_CODE = re.compile(r"[`|]|<[/!?]")
_FENCE = re.compile("`+")


def sentence(text: object, most: int = 400) -> str:
    """Prose on one line. What stands between two backticks, as in our own sentences, is a code span."""
    return _shortened(_clean(ends(str(text), _READ * most)), most, _prose)


def code(text: object, most: int = 90) -> str:
    """A name in a code span; one that a code span or a table could not hold is written with character references."""
    return _shortened(_clean(ends(str(text), _READ * most)), most, _name)


def fence(text: str, most: int = 1_500, *, language: str = "python") -> str:
    """A block of code, inside a fence that is longer than any run of backticks in it."""
    body = "\n".join(_clean(line, keeps_blanks=True).rstrip() for line in text[:most].splitlines())
    if len(text) > most:
        body += f"\n# ... cut here: {len(text) - most:,} more characters"
    bar = "`" * max(3, 1 + max((len(run) for run in _FENCE.findall(body)), default=0))
    return f"{bar}{language}\n{body}\n{bar}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; a column whose name ends in a unit in brackets is aligned to the right."""
    marks = ["---:" if is_figure(name) else "---" for name in columns]
    lines = [columns, marks, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def is_figure(column: str) -> bool:
    """Whether a column of this name has figures, which are aligned to the right."""
    return column.endswith(")") or column == "count"


def _shortened(text: str, most: int, write: Callable[[str], str]) -> str:
    """Cut the text until neither it nor what it becomes is too long."""
    written = write(ends(text, most))
    while len(written.encode()) > _GROWTH * most and most > 4:
        most = most * 2 // 3
        written = write(ends(text, most))
    return written


def _clean(text: str, *, keeps_blanks: bool = False) -> str:
    """One line without control characters, half characters and what reorders or hides text."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(_shown(letter) for letter in text)
    return text if keeps_blanks else " ".join(text.split())


def _shown(letter: str) -> str:
    kind = unicodedata.category(letter)
    if kind in ("Cc", "Zl", "Zp"):
        return "    " if letter == "\t" else " "
    return "\N{REPLACEMENT CHARACTER}" if kind in ("Cf", "Cs", "Co", "Cn") else letter


def _name(text: str) -> str:
    if not text:
        return "(no name)"
    return _without_formulas(text, _referenced) if _BREAKS_CODE.search(text) else f"`{text}`"


def _referenced(text: str) -> str:
    return _unlinked(
        "".join(letter if letter.isalnum() or letter in " /_:.…" else f"&#{ord(letter)};" for letter in text)
    )


def _prose(text: str) -> str:
    parts = _CODE.split(text)
    parts[0::2] = [_without_formulas(part, _escaped) for part in parts[0::2]]
    parts[1::2] = [_name(part) if part.strip() else part for part in parts[1::2]]
    return _LINE_START.sub(lambda found: _started(found[1]), _joined(parts))


def _started(mark: str) -> str:
    """Escape what would make a line a list item or a rule; a number keeps its digits."""
    return f"&#{ord(mark[0])};{mark[1:]}"


def _without_formulas(text: str, write: Callable[[str], str]) -> str:
    """Put what begins formulas in code spans, and the text between as `write` writes it."""
    parts = _FORMULA.split(text)
    parts[0::2] = [write(part) for part in parts[0::2]]
    parts[1::2] = [f"`{part}`" for part in parts[1::2]]
    return _joined(parts)


def _joined(parts: Iterable[str]) -> str:
    """Markdown side by side; two code spans that touch would be none."""
    written = ""
    for part in parts:
        written += f" {part}" if written.endswith("`") and part.startswith("`") else part
    return written


def _escaped(text: str) -> str:
    text = _ENTITY.sub("&amp;", text)
    text = "".join(f"&#{ord(letter)};" if letter in _STRUCTURE else letter for letter in text)
    text = _OUTSIDE_WORDS.sub("&#95;", text)
    return _unlinked(text)


def _unlinked(text: str) -> str:
    """Escape what a reader of Markdown takes for an address."""
    return _ADDRESS.sub(lambda found: f"&#{ord(found[0])};", text)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Subject:
    """One profile, as a report sees it."""

    results: Analysis
    title: str = ""
    notices: tuple[str, ...] = ()
    """Sentences that come first."""
    since_last: str = ""
    """Comparison with the last run of its cell."""
    capture: CaptureSummary | None = None
    """None for a trace loaded without it."""
    system: pd.DataFrame = field(default_factory=pd.DataFrame)
    """As `Profile.system`."""
    findings: pd.DataFrame = field(default_factory=pd.DataFrame)
    """As `Profile.system_findings`."""
    version: str = ""
    """Of this package; "" where unknown."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """How much a report holds of what has no end of its own. Widths are in characters, of the trace's own text."""

    rows: int
    advice: int
    name: int
    sentence: int
    code: int
    sentences: int


ROOMS = (
    Room(rows=10, advice=8, name=90, sentence=400, code=1_500, sentences=6),
    Room(rows=6, advice=5, name=60, sentence=300, code=800, sentences=4),
    Room(rows=3, advice=3, name=40, sentence=200, code=400, sentences=2),
)
"""The largest first; a report takes the first that fits."""


Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Part:
    heading: str
    source: str
    columns: Sequence[str]
    rows: list[list[str]]
    n_rows: int
    note: str = ""

    def without(self, columns: Collection[str]) -> Part:
        kept = [i for i, name in enumerate(self.columns) if name not in columns]
        rows = [[row[i] for i in kept] for row in self.rows]
        return replace(self, columns=[self.columns[i] for i in kept], rows=rows)

    def markdown(self) -> str:
        """The heading, how much of it is here, and the table."""
        counted = f"{len(self.rows):,} of {self.n_rows:,} row{'' if self.n_rows == 1 else 's'}; all: `{self.source}`."
        return f"### {self.heading}\n\n{f'{counted} {self.note}'.strip()}\n\n{table(self.columns, self.rows)}"


def part_of(
    heading: str,
    source: str,
    frame: pd.DataFrame,
    cells: Mapping[str, str | Callable[[Row], str]],
    *,
    room: Room,
    note: str = "",
    n_rows: int | None = None,
) -> Iterator[Part]:
    """The first rows of a frame; `cells` gives for each heading its column, or what writes it."""
    writers = [
        partial(_written, column=cell, heading=title, room=room) if isinstance(cell, str) else cell
        for title, cell in cells.items()
    ]
    shown: list[Row] = [
        {str(name): value for name, value in row.items()} for row in frame.head(room.rows).to_dict("records")
    ]
    rows = [[write(row) for write in writers] for row in shown]
    n_all = len(frame) if n_rows is None else n_rows
    yield Part(heading=heading, source=source, columns=[*cells], rows=rows, n_rows=n_all, note=note)


def _written(row: Row, *, column: str, heading: str, room: Room) -> str:
    """A cell: a name of the trace, bytes with their unit, times and shares in the heading's unit, counts."""
    value, unit = row[column], unit_of(column)
    if isinstance(value, str):
        return code(value, room.name) if value else ""
    if unit == "bytes":
        return size(value)
    if unit == "microseconds" and heading.endswith("(ms)"):
        return number(value / 1e3)
    if unit.startswith("ratio"):
        return number(value * 100)
    return number(value) if unit else f"{value:,}"


def file_name(path: object) -> str:
    """The last part of a path; `Cell [5]` stays what it is."""
    return PurePath(str(path)).name or str(path)


def share(ratio: float) -> str:
    return "unknown" if math.isnan(ratio) else f"{number(ratio * 100)} %"


def key_figures(subject: Subject, room: Room) -> str:
    rows = [*_steps(subject), *_machine(subject, room), *_samples(subject)]
    return table(["figure", "value"], rows)


def _steps(subject: Subject) -> Iterator[tuple[str, str]]:
    overview = subject.results.overview
    if not overview.n_steps:
        yield "Steps", "none found"
        return
    average = overview.step_time_avg_ms
    over = f"{overview.n_steps_averaged:,} of {plural(overview.n_steps, 'step')}"
    if overview.n_steps_averaged > 1:
        spread = f" ± {number(overview.step_time_std_ms)} ms (mean ± standard deviation over {over})"
        yield "Step time", f"{number(average)} ms{spread}"
    else:
        yield "Step time", f"{number(average)} ms (of {over})"
    if overview.batches:
        yield "A step", overview.batches
    frame = subject.results.steps.frame
    slowest = frame.loc[overview.is_averaged].nlargest(1, "step_time_ms")
    if overview.n_steps_averaged > 1:
        extremes = f"{number(overview.step_time_min_ms)} ms to {number(overview.step_time_max_ms)} ms"
        yield "Fastest to slowest step", f"{extremes} (slowest: row {int(slowest['step'].iloc[0]):,} of `prof.steps`)"
    if average > 0:
        yield "Rate", f"{number(1e3 / average)} steps/s by the mean step time (times the batch size: samples/s)"
    ratio = dict(zip(overview.breakdown["category"], overview.breakdown["ratio"], strict=True))
    has_device = ran_on_device(frame.loc[overview.is_averaged])
    name, computing = ("Device computes", "device_compute") if has_device else ("Ops on the CPU", "host_compute")
    yield name, f"{share(ratio[computing])} of the step"
    if overview.environment.framework == "TensorFlow":
        yield "Waiting for input", f"{share(ratio['input'])} of the step"
    if not math.isnan(overview.compute_16bit_ratio):
        yield "16-bit arithmetic", f"{share(overview.compute_16bit_ratio)} of device compute time"
    kernels = subject.results.kernels.frame
    time_us = kernels.loc[kernels["unit"] != ""].groupby("uses_tensor_core")["total_time_us"].sum()
    if time_us.sum() > 0:
        yield "Tensor Cores", f"{share(time_us.get(True, 0.0) / time_us.sum())} of the time of kernels"


def _machine(subject: Subject, room: Room) -> Iterator[tuple[str, str]]:
    environment = subject.results.overview.environment
    many = f" × {environment.n_devices:,}" if environment.n_devices > 1 else ""
    active = f" ({environment.n_active_devices:,} active)" if environment.n_devices else ""
    yield "Device", f"{code(environment.device_type, room.name)}{many}{active}"
    memory = subject.results.memory.summary
    for row in memory.nlargest(1, "peak_bytes").to_dict("records"):
        limit = f" of {size(row['capacity_bytes'])}" if row["capacity_bytes"] > 0 else ""
        yield "Most memory in use", f"{size(row['peak_bytes'])}{limit} in {code(row['allocator'], room.name)}"
    threads = f" of {plural(environment.n_threads, 'host thread')}" if environment.n_threads else ""
    yield "Captured", f"{number(environment.captured_ms)} ms, {plural(environment.n_events, 'event')}{threads}"


def _samples(subject: Subject) -> Iterator[tuple[str, str]]:
    system = subject.system
    if system.empty:
        return
    parts = []
    for column, label in (("cpu_pct", "CPU"), ("process_cpu_pct", "this process"), ("gpu_pct", "GPU")):
        if column in system and system[column].notna().any():
            parts.append(f"{label} {number(float(system[column].mean()))} %")
    if "rss_bytes" in system and system["rss_bytes"].notna().any():
        parts.append(f"resident memory with the profiler's at most {size(float(system['rss_bytes'].max()))}")
    if parts:
        yield "Machine meanwhile", f"{', '.join(parts)} (means over {plural(len(system), 'sample')})"


_UNITS = (
    ("_gflops", "GFLOP/s"),
    ("_pct", "%"),
    ("_ms", "ms"),
    ("_us", "us"),
    ("_ns", "ns"),
    ("_px", "px"),
    ("_s", "s"),
)
_MOST_EVIDENCE = 12
_MOST_OPS = 3


def advice_section(subject: Subject, room: Room) -> Iterator[str]:
    """The blocks of it; never none."""
    advice = subject.results.advice
    if not advice:
        yield _without(subject)
        return
    shown = advice[: room.advice]
    yield (
        f"{len(shown)} of {len(advice)} piece{'' if len(advice) == 1 else 's'} of advice (all: `prof.advice`), the largest "
        "possible gain first, a larger batch behind causes. A gain is what the fix wins by itself; two do not add up. "
        "Apply one, capture again, and compare: "
        "`print(tfprof.diff(before, after).verdict)`."
    )
    for rank, one in enumerate(shown, 1):
        yield from _piece(rank, one, room)


def _without(subject: Subject) -> str:
    if subject.results.overview.environment.unrecorded:
        return "No advice: nothing is known of the steps."
    if subject.results.overview.environment.framework == "PyTorch":
        return "No advice: none of the rules is for PyTorch."
    n_steps = subject.results.overview.n_steps
    asked = f"None of the {len(RULES)} rules has anything to say"
    if n_steps:
        return f"{asked}. Rules that had nothing to judge by (see the limits below) are silent too."
    return f"{asked}: most compare steps, and this capture has none. See how to record steps in the limits below."


"""What a gain is a share of."""


def _piece(rank: int, one: Advice, room: Room) -> Iterator[str]:
    gain = (
        f"gain {one.bound} {share(one.gain_ratio)} of the {TIME[one.share_of]}"
        if one.gain_ratio > 0
        else one.without_gain
    )
    stage = f", `{one.stage}`" if one.stage else ""
    what = f"{one.headline} " if one.headline else ""
    yield f"### {rank}. {what}(`{one.rule}`{stage}): severity {one.severity}, {gain}"
    yield sentence(one.title, room.sentence)
    told = [*one.evidence.items()]
    evidence = "; ".join(f"{code(name, 40)} {_value(name, value, room)}" for name, value in told[:_MOST_EVIDENCE])
    if len(told) > _MOST_EVIDENCE:
        evidence += f" ({_MOST_EVIDENCE} of {len(told)} figures)"
    rows = f"; rows of `prof.attribution` where `advice` is {rank - 1}" if one.selection.n_stretches else ""
    fix = f"\n- Fix: {sentence(one.fix.words, room.code)}" if one.fix.words else ""
    yield f"- Evidence: {evidence or 'none'}\n- Look at: {_place(one.selection, room)}{rows}{fix}"
    if 0 < len(one.fix.code) <= room.code:  # cut code would not run
        yield fence(one.fix.code, room.code)


def _value(name: str, value: float | str, room: Room) -> str:
    if isinstance(value, str):
        return code(value, room.name)
    if not math.isfinite(value):
        return "unknown"
    if name.endswith("_bytes") or name.startswith("bytes_"):
        return size(value)
    if name.endswith("_ratio"):
        return share(value)
    return f"{number(value)}{next((f' {unit}' for end, unit in _UNITS if name.endswith(end)), '')}"


def _place(at: Highlight, room: Room) -> str:
    parts = [f"{code(f'prof.{at.view}()', 40)}"]
    if at.host:
        parts.append(f"host {code(at.host, room.name)}")
    if at.step is not None:
        parts.append(f"row {at.step:,} of `prof.steps`")
    if at.time_range_ns:
        low, high = at.time_range_ns
        at_ms, for_ms = (one * PS_PER_NS / PS_PER_MS for one in (low, high - low))
        parts.append(f"{number(for_ms)} ms from {number(at_ms)} ms on: `prof.select(time_range=({low}, {high}))` (ns)")
    if at.op_names:
        names = ", ".join(code(name, room.name) for name in at.op_names[:_MOST_OPS])
        count = f"{_MOST_OPS} of " if len(at.op_names) > _MOST_OPS else ""
        parts.append(f"{count}{plural(len(at.op_names), 'op')}: {names}")
    return "; ".join(parts)


_CELL = 'style="text-align:right;padding:2px 8px;white-space:nowrap;background:none"'
_ROOM = 1.05
"""The longest bar ends this part before the right edge."""


@dataclass(frozen=True)
class BarRow:
    """One row, as texts that are escaped when they are drawn; a single cell takes the place of all columns and of the bar."""

    name: str
    cells: Sequence[str]
    bar: float = math.nan
    line: tuple[float, float] = (math.nan, math.nan)
    """Ends of a thin line on it, upright where both are the same; nan for none."""
    title: str = ""
    """The name's tooltip."""


def bar_table(
    heading: str, columns: Sequence[str], rows: Sequence[BarRow], *, longest: float, notices: Sequence[str]
) -> str:
    """The table under a heading, above what a reader must know; `longest` takes the whole room, lines beyond it are cut."""
    head = "".join(f"<th {_CELL}>{escape(text)}</th>" for text in (*columns, ""))
    lines = "".join(_row_html(row, len(columns), longest * _ROOM or 1.0) for row in rows)
    told = "".join(f"<li>{escape(text)}</li>" for text in notices)
    return (
        f'<div style="font-size:13px;line-height:1.4"><div style="font-weight:600">{escape(heading)}</div>'
        f'<table style="border-collapse:collapse;width:100%;margin:6px 0;font-size:13px"><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table>{f'<ul style=margin:0>{told}</ul>' if told else ''}</div>"
    )


def _row_html(row: BarRow, n_columns: int, full: float) -> str:
    name = f'<th scope="row" {_CELL} title="{escape(row.title)}">{escape(row.name)}</th>'
    cells = "".join(f"<td {_CELL}>{escape(text)}</td>" for text in row.cells)
    cells += f'<td style="width:40%;padding:2px 0">{_bar_html(row, full)}</td>'
    if len(row.cells) == 1:
        cells = f'<td colspan="{n_columns}">{escape(row.cells[0])}</td>'
    return f'<tr style="background:none">{name}{cells}</tr>'


def _bar_html(row: BarRow, full: float) -> str:
    """The bar in the accent colour, over it the line in the text's, as borders are without one."""
    length = row.bar / full if math.isfinite(row.bar) else 0.0
    drawn = f'<div style="width:{length:.2%};height:14px;background-color:#4c8bf5"></div>'
    low, high = (end / full for end in row.line)
    if math.isfinite(low) and math.isfinite(high):
        width = min(high, 1.0) - low
        # Laid over the bar by a margin: an untrusted notebook keeps no positions.
        shape = "margin-top:-16px;height:18px;border-left" if low == high else "margin-top:-8px;height:0;border-top"
        drawn += f'<div style="margin-left:{low:.2%};width:{width:.2%};{shape}:2px solid"></div>'
    return f'<div aria-hidden="true" style="height:14px;margin:2px 0">{drawn}</div>'


_VOID = re.compile(r"^(?:static |inline |__global__ )*void ")
_NAMESPACE = re.compile(r"(?:\b[A-Za-z_]\w*|\(anonymous namespace\))::")
_TEMPLATE = re.compile(r"(\w+)<")
_TENSOR = re.compile(r"\bTensor<([\w ]+?)(?: const)?,")
_WORD = re.compile(r"^scalar_|^Tensor|_op$|Op$")
_SCAFFOLD = frozenset(
    (
        *("EigenMetaKernel", "TensorEvaluator", "TensorAssignOp", "TensorMap", "Tensor", "TensorForcedEvalOp", "array"),
        *("TensorCwiseUnaryOp", "TensorCwiseBinaryOp", "TensorCwiseNullaryOp", "TensorCwiseTernaryOp"),
        *("DSizes", "Sizes"),
    )
)
"""Templates of Eigen that say how a kernel is built, not what it computes."""
_MOST_READ = 4_000
"""Characters of a signature."""


def readable_kernel(signature: str) -> str:
    """Without return type, arguments and namespaces; one of Eigen as what it computes, such as `Eigen conversion (half)`."""
    name = _without_arguments(_VOID.sub("", signature[:_MOST_READ]))
    bare = _NAMESPACE.sub("", name).replace("> >", ">>")
    if bare.startswith("EigenMetaKernel<"):
        return _eigen_kernel(bare) or bare
    return bare.strip() or signature


def _without_arguments(name: str) -> str:
    """Up to the parenthesis outside all angle brackets that opens the arguments."""
    depth = 0
    for i, letter in enumerate(name):
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth -= 1
        elif letter == "(" and depth == 0 and i and not name.startswith("(anonymous namespace)", i):
            return name[:i]
    return name


def _eigen_kernel(bare: str) -> str:
    words = dict.fromkeys(_WORD.sub("", one) for one in _TEMPLATE.findall(bare) if one not in _SCAFFOLD)
    words.pop("", None)
    output, *inputs = _TENSOR.findall(bare) or [""]
    if not words or not output:
        return ""
    taken = ", ".join(dict.fromkeys(inputs))
    shape = f"{taken} → {output}" if taken and taken != output else output
    return f"Eigen {' '.join(words)} ({shape})"


_FEW_STEPS = 10
_MOST_HOSTS = 3
_OF_KERAS = "; Keras `fit` is marked by itself."
_OUTCOMES = {
    "complete": "It ended with the program.",
    "bounded": "It stopped itself at its bound of seconds or bytes (`max_seconds=`, `max_bytes=`): what came after is not in it.",
    "exception": "The program ended in an exception, which cut it short.",
    "interrupted": "It was interrupted, which cut it short.",
}


def capture_section(subject: Subject, room: Room) -> str:
    capture = subject.capture
    if capture is None:
        return (
            "What the capture cost is not known: the trace was loaded without it. Profiles of `tfprof.profile` note it, and "
            "`prof.save` keeps it."
        )
    outcome = _OUTCOMES.get(capture.outcome, "")
    return f"{sentence(capture.sentence, 600)} {outcome} Detail: {code(capture.detail, room.name)}.".replace("  ", " ")


def limits_section(subject: Subject, room: Room) -> Iterator[str]:
    """What the numbers do not say, and what was not recorded."""
    yield "\n".join(f"- {line}" for line in [*_always(subject, room), *_step_limits(subject, room), *_missing(subject)])
    remedy = subject.results.memory.remedy
    if remedy:
        *why, line = remedy.splitlines()
        yield f"- Memory: {sentence(' '.join(why), room.sentence)}"
        yield fence(line, room.code)


def _always(subject: Subject, room: Room) -> Iterator[str]:
    trace = subject.results.trace
    yield (
        "Times of ops are sums over threads and streams that run at once; times of steps are elapsed time. Do not compare one "
        "with the other."
    )
    if trace.warnings:
        yield (
            f"The profiler or the reader warned {plural(len(trace.warnings), 'time')} (all: `prof.trace.warnings`), first: "
            f"{sentence(trace.warnings[0], room.sentence)}"
        )
    if subject.results.overview.environment.n_sessions > 1:
        n_sessions = subject.results.overview.environment.n_sessions
        yield f"The trace is of {n_sessions:,} sessions of the profiler; what ran between them is not in it."


def _step_limits(subject: Subject, room: Room) -> Iterator[str]:
    overview = subject.results.overview
    if overview.environment.unrecorded:
        return  # the verdict tells why, and what to do
    framework = overview.environment.framework
    if not overview.n_steps:
        yield (
            "No steps: nothing is known of a step's time, and most advice needs it. Mark them with "
            f"{MARKING[framework]}{_OF_KERAS if framework == 'TensorFlow' else '.'}"
        )
        return
    if overview.left_out:
        yield sentence(overview.left_out, room.sentence)
    if overview.is_inferred:
        yield (
            f"Steps are inferred from calls that repeat: their borders may be off. To mark them: {MARKING[framework]}."
        )
    if overview.n_steps_averaged < _FEW_STEPS:
        yield (
            f"The averages are over {plural(overview.n_steps_averaged, 'step')}: a single odd one moves them. Capture some 20"
            f"{', such as `tfprof.profile(steps=range(10, 30))`' if framework == 'TensorFlow' else ''}."
        )


def _missing(subject: Subject) -> Iterator[str]:
    results = subject.results
    if results.overview.environment.unrecorded:
        return
    if not results.trace.n_events:
        yield "Nothing ran while the profiler was on, so there are no tables."
        return
    if results.overview.environment.framework != "TensorFlow":
        return  # the notices tell what such a trace lacks
    has_device = any(plane.is_device for plane in results.trace.planes)
    if not has_device:
        yield (
            "No GPU or TPU was recorded. Where the machine has one, `tfprof.doctor()` tells what keeps the profiler from "
            "seeing it."
        )
    elif not results.overview.environment.n_active_devices and results.hlo_ops.frame.empty:
        yield "A device is in the trace, but nothing that ran on it: `tfprof.doctor()` tells what may be in the way."
    elif not (results.ops["device"] == "Device").any():
        yield (
            "What ran on the device does not name its ops in this trace: the tables of ops, lines and layers are of the host "
            "alone, and `prof.kernels` is all there is of the device."
        )
    if results.input_pipeline.iterators.empty:
        yield "No tf.data iterator ran. Input from Python or NumPy counts as time between steps; its parts are not known."
    if results.source_lines.frame.empty or not (results.source_lines.frame["bucket"] == "").any():
        yield (
            "No source line is known: traces do not carry them. Captures of `tfprof.profile` and `%%tfprofile` note them, for "
            "graphs that are traced while the package is imported; `prof.save` keeps them, a Chrome trace does not."
        )
    if not (results.layers.entries["kind"] == "layer").any():
        yield "No Keras layer is known: they come from the capture's notes, or from name scopes that name layers."
    if subject.system.empty:
        yield "The machine was not sampled (CPU, memory, disk, network): capture with `tfprof.profile(system=True)`, the default."


def environment_section(subject: Subject, room: Room) -> str:
    environment = subject.results.overview.environment
    noted = subject.results.sources.facts if subject.results.sources is not None else None
    facts = {} if noted is None else dict(zip(noted["name"], noted["value"], strict=True))
    versions = {
        "TensorFlow": environment.tensorflow_version,
        "JAX": environment.jax_version,
        "Keras": environment.keras_version,
        "Python": environment.python_version,
        "platform": facts.get("platform", ""),
        "tfprof_widgets that wrote this report": subject.version,
    }
    rows = [(name, code(value, room.name)) for name, value in versions.items() if value]
    hosts = ", ".join(code(host, room.name) for host in environment.hosts[:_MOST_HOSTS] if host)
    if hosts:
        n_hosts = len(environment.hosts)
        rows.append(("host", f"{hosts} ({_MOST_HOSTS} of {n_hosts:,})" if n_hosts > _MOST_HOSTS else hosts))
    if environment.n_cpus:
        rows.append(("CPU cores", f"{environment.n_cpus:,}"))
    if environment.host_memory_bytes:
        rows.append(("host memory", size(environment.host_memory_bytes)))
    if environment.n_devices:
        memory = f", {size(environment.device_memory_bytes)} each" if environment.device_memory_bytes else ""
        speed = environment.memory_bandwidth_bytes_per_s
        speed_text = f", {number(speed / 1e9)} GB/s" if speed else ""
        rows.append(("devices", f"{environment.n_devices:,}{memory}{speed_text}"))
    is_own = environment.framework == "TensorFlow"
    missing = [name for name in ("TensorFlow", "Keras", "Python") if is_own and not versions[name]]
    told = table(["what", "value"], rows) if rows else "Nothing was noted."
    if missing:
        told += f"\n\nNot noted: versions of {', '.join(missing)}. Captures of `tfprof.profile` that `prof.save` kept have them."
    return told


_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages[/\\]|^<frozen ")
"""In paths of code that is not the user's."""


def costly_types(results: Analysis, room: Room) -> Iterator[Part]:
    """What `tf.profiler.advise` called expensive operations: op types by their time, with the rate of their arithmetic."""
    graph = results.op_graph
    if graph.is_empty:
        return
    tree = build_tree(graph, "op", make_tree_options(order_by="micros"))
    whole = float(tree.column("micros", is_total=True)[0])
    names = ("micros", "accelerator_micros", "float_ops", "occurrence")
    found = pd.DataFrame({"name": tree.names, **{name: tree.column(name) for name in names}})
    micros = found["micros"].to_numpy(np.float64)
    frame = found.assign(ratio=micros / whole if whole else 0.0).iloc[1:]
    on_device = {"on the device (ms)": "accelerator_micros"} if frame["accelerator_micros"].any() else {}
    rate = {"GFLOP/s": _rate} if (frame["float_ops"] > 0).any() else {}
    yield from part_of(
        "Expensive operations, by op type",
        'prof.tree("op", order_by="micros")',
        frame[frame["micros"] > 0],
        {
            "op type": "name",
            "time (ms)": "micros",
            **on_device,
            "of all ops (%)": "ratio",
            "ops (count)": "occurrence",
            **rate,
        },
        room=room,
        note="Averages a step." if graph.counts_steps else "Self times, sums over all threads of the capture.",
    )


def costly_stacks(results: Analysis, room: Room) -> Iterator[Part]:
    """The lines that made the costliest ops of a file with call stacks; a capture has `source_lines`."""
    graph = results.op_graph
    if results.stored_graph is None or not (graph.ops["frame"] >= 0).any():
        return
    frame = _by_line(build_tree(graph, "code", make_tree_options()))
    texts = {"code": "text"} if (frame["text"] != "").any() else {}
    yield from part_of(
        "Costly lines of code",
        'prof.tree("code", max_depth=100)',
        frame[frame["micros"] > 0].sort_values("micros", ascending=False, kind="stable"),
        {
            "line": lambda row: code(f"{file_name(row['file'])}:{row['line']}", room.name),
            **texts,
            "function": "function",
            "time of its ops (ms)": "micros",
            "of all ops (%)": "ratio",
            "gradients (ms)": "gradient_micros",
        },
        room=room,
        note="Averages a step; of each call stack the innermost line that is in no installed package.",
    )


def _by_line(tree: Tree) -> pd.DataFrame:
    """A code view -> one row per line of the user's: `file, line, function, text, micros, gradient_micros, ratio`."""
    frames, parent = tree.graph.frames, tree.parent.tolist()
    is_own = [not _PACKAGES.search(file) for file in frames["file"].tolist()]
    own_frame = tree.stack_frame.copy()
    for row in range(1, len(parent)):  # callers come before what they call
        if own_frame[row] >= 0 and not is_own[own_frame[row]] and own_frame[parent[row]] >= 0:
            own_frame[row] = own_frame[parent[row]]
    micros = tree.column("micros")
    is_gradient = np.array([name.endswith(GRADIENT) for name in tree.names])
    known = np.flatnonzero(own_frame >= 0)
    found = frames.iloc[own_frame[known]][["file", "line", "function", "text"]].reset_index(drop=True)
    found["text"] = found["text"].replace("none", "")  # TensorFlow's word for a file that it could not read
    found = found.assign(micros=micros[known], gradient_micros=np.where(is_gradient, micros, 0)[known])
    lines = found.groupby(["file", "line", "function", "text"], sort=False, as_index=False).sum()
    whole = float(tree.column("micros", is_total=True)[0])
    return lines.assign(ratio=lines["micros"] / whole if whole else 0.0)


def variables(results: Analysis, room: Room) -> Iterator[Part]:
    frame = results.variables
    if frame.empty:
        return
    total, trained = int(frame["n_params"].sum()), int(frame["n_params"][frame["trainable"]].sum())
    in_layers = {"layer": "layer"} if (frame["layer"] != "").any() else {}
    yield from part_of(
        "Variables",
        "prof.variables",
        frame.sort_values("n_params", ascending=False, kind="stable"),
        {
            "variable": "name",
            **in_layers,
            "shape": lambda row: code(_shape(row["shape"]), room.name),
            "parameters (count)": "n_params",
            "memory": lambda row: size(row["bytes"]) if row["bytes"] else "unknown",
            "trainable": lambda row: "yes" if row["trainable"] else "no",
        },
        room=room,
        note=f"{total:,} parameters in all, {trained:,} of them trainable.",
    )


def _rate(row: Row) -> str:
    """Float operations a nanosecond, where both are known."""
    rate = row["float_ops"] / row["micros"] / 1e3
    return number(rate) if rate >= 0.001 else ""


def _shape(shape: object) -> str:
    if not isinstance(shape, tuple):
        return "unknown"
    return " x ".join("?" if one < 0 else str(one) for one in shape) or "scalar"
