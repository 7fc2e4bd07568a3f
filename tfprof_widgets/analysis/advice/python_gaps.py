"""Stretches of steps in which no op runs, and samples of the user's line -> the Python code between computations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Float64, Int64, Trace
from ..base.units import PS_PER_MS
from .code_places import (
    COMPREHENSIONS,
    enclosing_class,
    enclosing_function,
    function_body,
    last_part,
    line_text,
    result_is_used,
    title_of,
)
from .step_facts import StepFacts

MIN_GAP_MS = 3.0
"""What Keras itself does between two batches, callbacks of its own included, took 0.1 to 0.7 ms on a machine with a load of
six processes a core. Longer stretches, in most of the steps, are somebody's code."""
MIN_NAMED_GAP_MS = 1.0
"""Where samples say that the user's thread was at another line than that of the step, a shorter stretch is told, too. What a
loop of the user's own needs to fetch the next batch and to call a function stays below this."""
MIN_SAMPLES = 3
"""The user's line is sampled every 5 ms, or less often where that would cost too much; fewer samples than this name no line."""
_MOST = 0.5
MIN_FOR_A_SHARE = 40
"""Samples in the steps from which on a share of them says how long something took, to a tenth or so."""
_LONG = 0.5
"""Of the usual longest stretch: others at least this long count with it, and all that are no framework's own."""


@dataclass(frozen=True)
class CodeLine:
    """A line of the user's."""

    file: str
    """What the notebook shows, such as `Cell [3]`, or the path."""
    line: int
    function: str
    code: str
    """Its text without indentation, empty where it is not known."""
    share: float
    """Of the samples within the gaps."""

    owner: str = ""
    """The class in which its function is written; empty for none."""
    is_needed: bool = False
    """Whether its file does something with what its function returns."""
    writes: bool = False
    """Whether its function says that it saves something."""

    @property
    def place(self) -> str:
        """`train.py:12`."""
        return f"{last_part(self.file)}:{self.line}"

    @property
    def where(self) -> str:
        """`Report.on_epoch_end (train.py:12)`; of a line that is in no function the place alone."""
        if not self.function.isidentifier():
            return self.place
        return f"{self.owner}{'.' if self.owner else ''}{self.function} ({self.place})"


@dataclass(frozen=True, eq=False, repr=False)
class PythonGap:
    """The stretches in which neither an op nor the device runs, those of a length that recurs."""

    ms: Float64
    """For each step the time of its long stretches."""
    usual_ms: float
    """Median over the steps of the longest stretch."""
    lines: tuple[CodeLine, ...] = field(default=())
    """Where the user's thread was in them, the most frequent first, without the line that runs the step itself."""
    pieces: pd.DataFrame = field(default_factory=pd.DataFrame)
    """They: `entry` among the steps, `start_ps`, `duration_ps`."""
    n_samples: int = 0
    """How many samples lie in them."""
    sampled_ratio: float = 0.0
    """Share of the steps' samples that are at those of these lines which mostly run no op, whatever runs meanwhile: code that now
    and then calls an op itself breaks its stretch in two. 0 where there are too few samples to tell."""

    @property
    def is_named(self) -> bool:
        """Whether most samples, and enough of them, were at a line other than that of the step."""
        return self.n_samples >= MIN_SAMPLES and sum(line.share for line in self.lines) >= _MOST

    @property
    def is_long(self) -> bool:
        """Whether it is more than the framework's own bookkeeping."""
        return self.usual_ms >= (MIN_NAMED_GAP_MS if self.is_named else MIN_GAP_MS)


def python_gap(trace: Trace, source_map: SourceMap | None, steps: StepFacts) -> PythonGap:
    """Find them."""
    if not len(steps):
        return PythonGap(np.zeros(0), 0.0)
    usual = float(np.median(steps.longest_ms("other")))
    other = steps.pieces[steps.pieces["category"] == "other"]
    long = other[other["duration_ps"] >= max(min(usual * _LONG, MIN_GAP_MS), 1e-6) * PS_PER_MS]
    of_step = np.zeros(steps.n_all, np.float64)
    np.add.at(of_step, long["step"].to_numpy(np.int64), long["duration_ps"].to_numpy(np.int64) / PS_PER_MS)
    place = np.full(steps.n_all, -1, np.int64)
    place[steps.row] = np.arange(len(steps))
    pieces = long[["start_ps", "duration_ps"]].assign(entry=place[long["step"].to_numpy(np.int64)])
    gap = PythonGap(of_step[steps.row], usual, pieces=pieces)
    if source_map is None or not len(source_map.samples):
        return gap
    time_ps, frame = sample_times(trace, source_map)
    in_gap = covered(time_ps, long)
    in_work = covered(time_ps, steps.pieces[steps.pieces["category"].isin(["host_compute", "device_compute"])])
    lines = _lines(source_map, frame[in_gap], _main_line(source_map, frame[in_work]))
    ratio = _sampled_ratio(source_map, frame, in_gap, steps.pieces, time_ps, lines)
    return replace(gap, lines=lines, n_samples=int(in_gap.sum()), sampled_ratio=ratio)


def _sampled_ratio(
    source_map: SourceMap, frame: Int64, in_gap: Bool, pieces: pd.DataFrame, time_ps: Int64, lines: tuple[CodeLine, ...]
) -> float:
    in_step = covered(time_ps, pieces)
    if not lines or int(in_step.sum()) < MIN_FOR_A_SHARE:
        return 0.0
    waits = covered(time_ps, pieces[pieces["category"] == "input"])
    place = _place(source_map, frame).reset_index(drop=True)
    counted = place.assign(n=in_step & ~waits, gap=in_gap).groupby(["file", "line"])[["n", "gap"]].sum()
    rows = source_map.files["title"].where(source_map.files["title"] != "", source_map.files["file"])
    named = {(one.file, one.line) for one in lines}
    n = sum(
        int(count)
        for (file, line), count, of_gap in zip(counted.index, counted["n"], counted["gap"], strict=True)
        if file >= 0 and (rows.iloc[int(file)], int(line)) in named and of_gap >= _MOST * count
    )
    return n / int(in_step.sum())


def sample_times(trace: Trace, source_map: SourceMap) -> tuple[Int64, Int64]:
    """When the user's thread was sampled, in ps after the trace origin, and the frame that it was in; known ones."""
    time_ns, frame = (source_map.samples[name].to_numpy(np.int64) for name in ("time_ns", "frame"))
    # A damaged file may say anything: what is years away does not overflow below, and lies in no step.
    after = np.clip(time_ns - np.int64(min(trace.origin_ns, 2**63 - 1)), -(2**52), 2**52) * 1000
    known = frame >= 0
    return after[known], frame[known]


def covered(time_ps: Int64, pieces: pd.DataFrame) -> Bool:
    """Which moments lie in some pieces; pieces of several hosts may overlap, the later begun one counts."""
    start = pieces["start_ps"].to_numpy(np.int64)
    order = np.argsort(start, kind="stable")
    end = (start + pieces["duration_ps"].to_numpy(np.int64))[order]
    at = np.searchsorted(start[order], time_ps, side="right") - 1
    return (at >= 0) & (time_ps < np.append(end, 0)[at])


def top_line(trace: Trace, source_map: SourceMap | None, pieces: pd.DataFrame) -> CodeLine | None:
    """The line at which the user's thread was most often in some pieces; None where nobody sampled it often enough."""
    if source_map is None or not len(source_map.samples):
        return None
    time_ps, frame = sample_times(trace, source_map)
    inside = frame[covered(time_ps, pieces)]
    lines = _lines(source_map, inside, None)
    return lines[0] if lines and len(inside) >= MIN_SAMPLES else None


def step_call(source_map: SourceMap, frame: Int64, step: Int64) -> tuple[int, int, str]:
    """File, line and function that run the steps: what most of them were seen at, by the frames of samples and their steps.

    Not what most samples are at: a function that some of the steps call may take most of the time.
    """
    samples = source_map.frames.iloc[frame][["file", "line", "function"]].reset_index(drop=True).assign(step=step)
    seen = samples.groupby(["file", "line", "function"])["step"].agg(["nunique", "size"])
    file, line, function = seen.sort_values(["nunique", "size"]).index[-1]
    return int(file), int(line), str(function)


def _place(source_map: SourceMap, frame: Int64) -> pd.DataFrame:
    return source_map.frames.iloc[frame][["file", "line"]]


def _main_line(source_map: SourceMap, frame: Int64) -> tuple[int, int] | None:
    """File and line at which the thread is most often while ops run: the call of the step."""
    if not len(frame):
        return None
    counts = _place(source_map, frame).value_counts()
    return int(counts.index[0][0]), int(counts.index[0][1])


def _lines(source_map: SourceMap, frame: Int64, main: tuple[int, int] | None) -> tuple[CodeLine, ...]:
    if not len(frame):
        return ()
    counts = _place(source_map, frame).value_counts(sort=True)
    found = []
    for (file, line), n in zip(counts.index, counts.tolist(), strict=True):  # one turn per line
        if (int(file), int(line)) == main or file < 0:
            continue
        found.append(code_line(source_map, int(file), int(line), n / len(frame)))
    return tuple(found)


def code_line(source_map: SourceMap, file: int, line: int, share: float) -> CodeLine:
    """What is known of a line at which samples lie."""
    text = str(source_map.files["text"].iloc[file])
    lines = text.split("\n")
    function = _function(source_map, file, line, lines)
    title, code = title_of(source_map, file), line_text(text, line)
    body = " ".join(function_body(lines, line))
    return CodeLine(
        file=title,
        line=line,
        function=function,
        code=code,
        share=share,
        owner=enclosing_class(lines, line, function),
        is_needed=result_is_used(text, function),
        writes=any(word in body for word in ("save", "write", "dump", "ckpt", "checkpoint")),
    )


def _function(source_map: SourceMap, file: int, line: int, text: list[str]) -> str:
    """The function that a line belongs to; of a comprehension the one that it is written in, by its callers or by the text."""
    frames = source_map.frames
    rows = frames[(frames["file"] == file) & (frames["line"] == line)]
    own = [str(name) for name in rows["function"] if name not in COMPREHENSIONS]
    if own:
        return own[0]
    row = rows.iloc[0]
    while str(row["function"]) in COMPREHENSIONS and row["parent"] >= 0:  # a parent is always an earlier row
        row = frames.iloc[int(row["parent"])]
    if str(row["function"]) not in COMPREHENSIONS and row["file"] == file:
        return str(row["function"])
    return enclosing_function(text, line) or str(rows["function"].iloc[0])
