"""A failed allocation -> `MemoryFailure`: what was live at that moment, and what to do."""

from __future__ import annotations

import html
import logging
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import pandas as pd

from ...trace.capture_facts import Failure
from ..common import PS_PER_MS, number, percent, size, tail_of_text
from ..facts import Facts
from ..layers.layers import layers_of
from ..memory.moments import Snapshots
from ..names import without_calls
from ..ops.executions import EAGER_SCOPE
from .what_held import (
    Estimate,
    FailedRequest,
    Holders,
    Moment,
    allocator_of,
    batch_size_of,
    estimate_batch,
    find_moment,
    holders_at,
    lines_of,
    no_holders,
    parse_failure,
    progress_of,
    seconds_since_capture,
)

MAX_ROWS = 8
"""Of each table, on the screen and in texts."""
MAX_NAME = 160
_WIDTH = 96
_MIN_FLOAT_RATIO = 0.2
"""Of the memory in use that is float32, from which half of it is worth a line."""


@dataclass(frozen=True, kw_only=True)
class Action:
    """One thing to do about a failed allocation: an element of `MemoryFailure.actions`."""

    words: str
    """What to do, in words."""
    code: str = ""
    """Code to paste; empty where there is none."""
    detail: str = ""
    """How that is known."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What sentences tell beside the fields of `MemoryFailure`."""

    is_vague: bool
    """Whether the message tells neither a size, nor an op, nor an allocator."""
    machine: str
    """A sentence on the memory of the machine."""
    is_bucket: bool = False
    """Whether the layer is none but what else ops are charged to, such as the optimizer."""
    step_name: str = ""
    before: str = ""
    """What was free when a capture ended that does not tell of that moment, a sentence."""


def sentence(told: MemoryFailure, setting: Setting) -> str:
    """What happened, in one or two sentences."""
    if setting.is_vague:
        head = f"{told.kind}: {_cut(told.message)}" if told.message else f"{told.kind}: memory ran out"
        return _ended(head + (f", at {_short(told.line)}" if told.line else "")) + _state(told, setting)
    where = {"": "", "host": " of the machine's memory"}.get(told.device, f" on {told.device}")
    asked = " asked for memory" if math.isnan(told.requested_bytes) else f" asked for {size(told.requested_bytes)}"
    tensor = _tensor(told)
    when = f" in step {setting.step_name.removeprefix('train ') or told.step}" if told.step >= 0 else ""
    what = f"{_subject(told, setting)}{asked}{where}{f' for {tensor}' if tensor else ''}{when}"
    return f"Out of memory: {what}.{_state(told, setting)}"


def _subject(told: MemoryFailure, setting: Setting) -> str:
    """Who asked: "Relu of layer model/dense (train.py:14)", or as much of it as is known."""
    op, line = without_calls(told.op).removeprefix(EAGER_SCOPE), _short(told.line) if told.line else ""
    if told.layer and op:
        op = f"{op.rpartition('/')[2]} of {_cut(told.layer) if setting.is_bucket else f'layer {_cut(told.layer)}'}"
    if not op:
        return line or "the program"
    return f"{_cut(op)} ({line})" if line else _cut(op)


def _state(told: MemoryFailure, setting: Setting) -> str:
    machine = f" {setting.machine}" if setting.machine else ""
    if math.isnan(told.in_use_bytes):
        return f"{machine} {setting.before}".rstrip()
    if math.isnan(told.capacity_bytes):
        return f"{machine} TensorFlow's tensors held {size(told.in_use_bytes)}{' of it' if machine else ''}."
    free = told.capacity_bytes - told.in_use_bytes
    words = f" {size(told.in_use_bytes)} of {size(told.capacity_bytes)} were in use"
    if told.is_fragmented:
        block = f", the largest of at most {size(told.largest_free_bytes)}"
        return f"{words}; {size(free)} were free, but in pieces{'' if math.isnan(told.largest_free_bytes) else block}."
    if math.isnan(told.largest_free_bytes):
        return f"{words}, {size(free)} free."
    return f"{words}; the largest free piece was at most {size(told.largest_free_bytes)}."


def _tensor(told: MemoryFailure) -> str:
    if told.shape is None:
        return ""
    dims = [str(one) for one in told.shape[:20]] + ["…"] * (len(told.shape) > 20)
    return f"{'an array' if told.device == 'host' else 'a tensor'} of {told.dtype} [{','.join(dims)}]"


def actions(
    told: MemoryFailure, setting: Setting, holders: Holders, estimate: Estimate, remedy_code: str
) -> tuple[Action, ...]:
    """What to do, the surest first."""
    found = []
    if estimate.fits is not None:
        words = f"Batch size {estimate.fits:,} is likely to fit; {estimate.batch_size:,} did not."
        found.append(Action(words=words, code=f"batch_size = {estimate.fits}", detail=estimate.words))
    elif told.device == "host":
        found.append(Action(words=_HOST, code='data = np.load(path, mmap_mode="r")'))
    if told.is_fragmented and "GPU" in told.device:
        words = "Let CUDA's own allocator fit blocks together; set it before TensorFlow starts."
        found.append(Action(words=words, code='import os; os.environ["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"'))
    if estimate.fits is None and told.device != "host":
        found += _smaller_batch(told, setting, estimate)
    found += _half(told, setting, holders)
    found += _largest(holders)
    if not found and told.device != "host" and not told.remedy:
        found.append(Action(words=_SINGLE))
    if told.remedy:
        found.append(Action(words=told.remedy, code=remedy_code))
    return tuple(found)


_SINGLE = "Make the tensors smaller, or free those that are not needed any more before that line (`del`)."
_HOST = "Make the array smaller or of a smaller type, or read it in parts: a memory-mapped file, or tf.data from files."


def _smaller_batch(told: MemoryFailure, setting: Setting, estimate: Estimate) -> Iterator[Action]:
    """Half of the batch, where nothing tells which one fits. What a layer makes has the batch for its first dimension."""
    batch, unless = estimate.batch_size or 0, ""
    is_made = told.layer and not setting.is_bucket and "grad" not in told.op.lower()
    if not batch and is_made and told.shape is not None and len(told.shape) > 1:
        batch = told.shape[0]
        unless = f", if {batch:,}, the first dimension of that tensor, is your batch size"
    if batch > 1:
        yield Action(words=f"Halve the batch size{unless}.", code=f"batch_size = {batch // 2}", detail=estimate.words)


def _half(told: MemoryFailure, setting: Setting, holders: Holders) -> Iterator[Action]:
    """Mixed precision, where most of what grows is float32."""
    live = holders.live
    is_of_layer = told.layer and not setting.is_bucket
    asks = told.requested_bytes if is_of_layer and told.dtype == "float" else math.nan
    if live.empty or not told.in_use_bytes > 0:
        if not (told.remedy and math.isfinite(asks)):
            return
    else:
        is_float = (live["dtype"] == "float") & live["kind"].isin(("layer", "loss"))
        n_bytes = float(live["total_bytes"][is_float].sum())
        if n_bytes + (asks if math.isfinite(asks) else 0) < _MIN_FLOAT_RATIO * told.in_use_bytes:
            return
    policy = "mixed_float16" if "GPU" in told.device else "mixed_bfloat16"
    words = "Mixed precision halves what layers keep for the backward pass; set it before the model is made."
    yield Action(words=words, code=f'keras.mixed_precision.set_global_policy("{policy}")')


def _largest(holders: Holders) -> Iterator[Action]:
    """The line of code that holds most."""
    lines = holders.by_line
    coded = lines[lines["code"] != ""] if len(lines) else lines
    if not len(coded):
        return
    top = coded.iloc[0]
    if top["ratio"] >= 0.1:
        held = f"{size(top['bytes'])} ({percent(top['ratio'])})"
        yield Action(words=f"{_short(top['line'])} holds most of all lines, {held}: {_cut(top['code'])}")


def failure_lines(failure: MemoryFailure) -> Iterator[str]:
    """The whole explanation in lines of text."""
    yield from textwrap.wrap(failure.sentence, _WIDTH)
    for title, frame, name in _tables(failure):
        yield f"  Held by {title}: {min(MAX_ROWS, len(frame))} of {len(frame):,}"
        for row in frame.head(MAX_ROWS).to_dict("records"):
            yield f"    {size(row['bytes']):>9} {percent(row['ratio']):>6}  {_cut(name(row), _WIDTH - 24)}"
    for action in failure.actions:
        yield from textwrap.wrap(action.words, _WIDTH, initial_indent="  > ", subsequent_indent="    ")
        if action.code:
            yield f"      {action.code}"
        yield from textwrap.wrap(action.detail, _WIDTH, initial_indent="    ", subsequent_indent="    ")


def _tables(failure: MemoryFailure) -> Sequence[tuple[str, pd.DataFrame, Any]]:
    if not failure.is_recorded:
        return ()
    return (
        (
            "op",
            failure.by_op,
            lambda row: " ".join(filter(None, (row["op"], row["shape"] if row["shape"] != "unknown" else ""))),
        ),
        ("layer", failure.by_layer, lambda row: row["layer"]),
        ("line", failure.by_line, lambda row: f"{_short(row['line'])}  {row['code']}".strip()),
    )


def failure_html(failure: MemoryFailure) -> str:
    """The whole explanation as HTML; text of the trace is escaped."""
    parts = [f"<p><b>{html.escape(failure.sentence)}</b></p>"]
    for title, frame, name in _tables(failure):
        rows = "".join(
            f"<tr><td style='text-align:right'>{html.escape(size(row['bytes']))}</td>"
            f"<td style='text-align:right'>{html.escape(percent(row['ratio']))}</td>"
            f"<td style='text-align:left'>{html.escape(_cut(name(row)))}</td></tr>"
            for row in frame.head(MAX_ROWS).to_dict("records")
        )
        caption = f"Held by {title}: {min(MAX_ROWS, len(frame))} of {len(frame):,}"
        parts.append(f"<table><caption style='text-align:left'>{caption}</caption><tbody>{rows}</tbody></table>")
    listed = "".join(
        f"<li>{html.escape(one.words)}{f'<pre>{html.escape(one.code)}</pre>' if one.code else ''}{html.escape(one.detail)}</li>"
        for one in failure.actions
    )
    return f"<div class='tfprof-memory-failure'>{''.join(parts)}<ul>{listed}</ul></div>"


def _short(line: str) -> str:
    """`train.py:14` for a path; `Cell [5]:3` stays."""
    return _cut(PurePath(line).name or line)


def _cut(text: object, room: int = MAX_NAME) -> str:
    """The end of a long name tells ops apart."""
    return tail_of_text(" ".join(str(text).split()), room)


def _ended(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."


_logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MemoryFailure:
    """An allocation that failed, what held the memory then, and what to do: what `Profile.memory_failure` gives.

    It shows itself as text and as HTML. What is not known is NaN, "" or None. Bytes are those of the last moment that
    the allocator recorded before the failure.
    """

    kind: str
    """Class of the exception, such as `ResourceExhaustedError` or `MemoryError`."""
    message: str
    """The first line of its message that tells of the allocation."""
    requested_bytes: float
    """How much was asked for: shape times type. The allocator rounds it up to its blocks."""
    shape: tuple[int, ...] | None
    """Of the tensor; None where the message does not tell."""
    dtype: str
    """Of the tensor, such as `float32`."""
    op: str
    """The op that asked, as the trace calls it, else as the message does."""
    layer: str = ""
    """Its Keras layer, or the row of `Profile.layers` that it belongs to."""
    line: str
    """`file:line` that made the op; without one the line of yours that was executed."""
    code: str
    """The text of that line."""
    allocator: str
    """The allocator that could not give it, such as `GPU_0_bfc`."""
    device: str
    """Such as `GPU:0`; `host` for memory of the process that no allocator of TensorFlow's was asked for."""
    step: int = -1
    """Row of `Profile.steps`; -1 between steps, and where it is not known."""
    at_ms: float = math.nan
    """When the state below was recorded, in ms after the trace origin."""
    in_use_bytes: float = math.nan
    """In use at that moment."""
    capacity_bytes: float = math.nan
    """In use and free together."""
    largest_free_bytes: float = math.nan
    """At most so much lay in one piece: the free bytes times (1 - fragmentation). Memory that the allocator has not taken from
    the device counts as free where the capture does not tell how much that is. NaN where that is more than the request,
    which failed."""
    fragmentation_ratio: float = math.nan
    """How scattered the free memory was: 1 - largest free block / free bytes, as the allocator reports it."""
    by_op: pd.DataFrame
    """A table of who held it, the largest first: `op`, `dtype` and `shape` (of the largest of its tensors), `bytes`,
    `ratio` (of the bytes in use), `occurrences` (allocations), `ops` (names to select). It and the next two each add up
    to the bytes in use; empty where nothing was recorded.
    """
    by_layer: pd.DataFrame
    """The same by Keras layer: `layer`, `kind`, `bytes`, `ratio`, `occurrences`, `ops`."""
    by_line: pd.DataFrame
    """The same by source line: `line` (`file:line`, or the name of what has no line), `code`, `bytes`, `ratio`,
    `occurrences`, `ops`.
    """
    batch_size: int | None = None
    """What the program trained with; None where that is not known."""
    batch_size_that_fits: int | None = None
    """A batch size to start from: an estimate, which `estimate` explains; None where there is none."""
    estimate: str = ""
    """How it was estimated, or why it was not."""
    sentence: str = ""
    """What happened."""
    actions: tuple[Action, ...] = ()
    """What to do, each with `words`, `code` to paste, and `detail`."""
    remedy: str = ""
    """Where nothing of that moment was recorded: why, and how to record it."""

    @property
    def is_recorded(self) -> bool:
        """Whether the trace tells what lived at that moment."""
        return len(self.by_op) > 0

    @property
    def is_fragmented(self) -> bool:
        """Whether enough was free, but not in one piece."""
        return self.requested_bytes <= self.capacity_bytes - self.in_use_bytes

    @property
    def notice(self) -> str:
        """The sentence, and what to do first where there is a batch size to start from."""
        fits = self.batch_size_that_fits
        return self.sentence if fits is None else f"{self.sentence} Batch size {fits:,} is likely to fit."

    def text(self) -> str:
        """The explanation as lines of text."""
        return "\n".join(failure_lines(self))

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return failure_html(self)


def compute_memory_failure(facts: Facts) -> MemoryFailure | None:
    """Explain the failure that ended the profiled program; None where none did."""
    failure = facts.failure
    if failure is None:
        return None
    request = parse_failure(failure.text)
    try:
        names = facts.memory.allocators
        if _is_host(failure):
            names = tuple(name for name in names if "cpu" in name.lower())
        moment = find_moment(facts, request, failure.at_ns, allocators=names)
        if moment is None:
            return _unrecorded(facts, failure, request)
        return _explained(facts, failure, request, moment)
    except Exception:  # the cell has failed already: what the message tells must be shown in any case
        _logger.exception("the failed allocation cannot be explained")
        return failure_alone(failure, remedy="What held the memory cannot be told; the log says why.")


def failure_alone(failure: Failure, *, remedy: str = "") -> MemoryFailure:
    """What the message alone tells, where no trace is about that moment."""
    request = parse_failure(failure.text)
    bare = _bare(failure, request, no_holders())
    return _without_moment(bare, Setting(is_vague=request.is_vague, machine=""), remedy, failure.batch_size)


def _unrecorded(facts: Facts, failure: Failure, request: FailedRequest) -> MemoryFailure:
    """What the message tells, and what the trace of another moment tells of the op that failed."""
    layer, kind, line, code = _origin(facts, request.op)
    bare = _bare(failure, request, no_holders())
    bare = replace(bare, layer=layer, line=line or bare.line, code=code or bare.code)
    setting = Setting(
        is_vague=request.is_vague,
        machine=_machine(facts, failure),
        is_bucket=kind != "layer",
        before=_before(facts, failure, request),
    )
    return _without_moment(bare, setting, _remedy(facts, failure, request), failure.batch_size)


def _without_moment(bare: MemoryFailure, setting: Setting, remedy: str, batch_size: int) -> MemoryFailure:
    estimate = Estimate(
        batch_size=batch_size or None,
        fits=None,
        words="No batch size that fits is estimated: what held the memory is not known.",
    )
    why, _, code = remedy.rpartition("\n")
    bare = replace(bare, remedy=why.replace("\n", " ") or remedy)
    return _in_words(bare, setting, no_holders(), estimate, remedy_code=code if why else "")


def _explained(facts: Facts, failure: Failure, request: FailedRequest, moment: Moment) -> MemoryFailure:
    table, row = facts.memory.snapshots, moment.row
    holders = holders_at(facts, moment.allocator, row)
    free, in_use = float(table.free_bytes[row]), float(table.in_use_bytes[row])
    fragmentation = float(table.fragmentation_ratio[row])
    largest = float(table.largest_free_bytes[row])
    layer, kind, line, code = _origin(facts, moment.op)
    # The process asked the machine, which knows no such limit, or what the machine has is not known.
    no_limit = _is_host(failure) or not _has_limit(table, moment.allocator)
    bare = replace(
        _bare(failure, request, holders),
        op=moment.op or request.op,
        layer=layer,
        line=line or _executed(failure),
        code=code or failure.code,
        allocator=moment.allocator,
        step=moment.step,
        at_ms=float(table.time_ps[row] / PS_PER_MS),
        in_use_bytes=in_use,
        capacity_bytes=math.nan if no_limit else in_use + free,
        # A block as large as the request would have served it.
        largest_free_bytes=math.nan if no_limit or largest >= request.requested_bytes else largest,
        fragmentation_ratio=math.nan if no_limit else fragmentation,
    )
    setting = Setting(
        is_vague=request.is_vague,
        machine=_machine(facts, failure),
        is_bucket=kind != "layer",
        step_name=str(facts.step_frame["name"].iloc[moment.step]) if moment.step >= 0 else "",
    )
    estimate = estimate_batch(
        holders.live,
        request.shape,
        request.requested_bytes,
        capacity_bytes=bare.capacity_bytes,
        batch_size=batch_size_of(facts, failure.batch_size),
        progress=progress_of(facts, moment.step, moment.failed_ps, moment.op),
    )
    return _in_words(bare, setting, holders, estimate)


def _bare(failure: Failure, request: FailedRequest, holders: Holders) -> MemoryFailure:
    """What the exception tells, without words on it."""
    return MemoryFailure(
        kind=failure.kind,
        message=request.first_line,
        requested_bytes=request.requested_bytes,
        shape=request.shape,
        dtype=request.dtype,
        op=request.op,
        line=_executed(failure),
        code=failure.code,
        allocator=request.allocator,
        device="host" if _is_host(failure) else request.device,
        by_op=holders.by_op,
        by_layer=holders.by_layer,
        by_line=holders.by_line,
    )


def _in_words(
    bare: MemoryFailure, setting: Setting, holders: Holders, estimate: Estimate, remedy_code: str = ""
) -> MemoryFailure:
    return replace(
        bare,
        batch_size=estimate.batch_size,
        batch_size_that_fits=estimate.fits,
        estimate=estimate.words,
        sentence=sentence(bare, setting),
        actions=actions(bare, setting, holders, estimate, remedy_code),
    )


def _origin(facts: Facts, op: str) -> tuple[str, str, str, str]:
    """Layer, kind of layer, line and text of the line of an op; each "" where it is not known."""
    if op not in facts.op_shares.name:
        return _origin_by_name(facts, op)
    entry = int(facts.layers.op_entry[facts.op_shares.name.index(op)])
    layer, kind = (str(facts.layers.entries[name].iloc[entry]) for name in ("layer", "kind"))
    line, code = lines_of([op], facts)[0]
    if kind == "other":
        layer = ""
    # The name of a bucket is no line; the line that the program was at says more.
    return layer, kind, line if code or line.rpartition(":")[2].isdigit() else "", code


def _origin_by_name(facts: Facts, op: str) -> tuple[str, str, str, str]:
    """The same of an op that did not run while the profiler did: its name tells the layer."""
    if "/" not in op:
        return "", "", "", ""
    ((layer, kind),) = layers_of([op], [""], facts.op_scopes, shares=facts.op_shares, source_map=facts.source_map)
    return ("" if kind == "other" else layer), kind, "", ""


def _executed(failure: Failure) -> str:
    return f"{failure.file}:{failure.line}" if failure.file else ""


def _is_host(failure: Failure) -> bool:
    """Whether the process, not an allocator of TensorFlow's, found no memory."""
    return "MemoryError" in failure.kind or "Unable to allocate" in failure.text


def _has_limit(table: Snapshots, allocator: str) -> bool:
    return bool(table.free_bytes[table.rows_of(allocator)].any())


def _machine(facts: Facts, failure: Failure) -> str:
    """What the process held of the machine's memory, where that is what ran out and samples tell."""
    samples = facts.system
    if not _is_host(failure) or samples is None or samples.empty:
        return ""
    at_ms = (failure.at_ns - facts.trace.origin_ns) / 1e6
    before = samples[samples["time_ms"] <= at_ms]
    last = (before if len(before) else samples).iloc[-1]
    held, left = float(last.get("rss_bytes", math.nan)), float(last.get("memory_available_bytes", math.nan))
    words = f"The process held {size(held)}" if math.isfinite(held) else ""
    return (
        f"{words}, and the machine had {size(left)} left." if words and math.isfinite(left) else words and f"{words}."
    )


def _before(facts: Facts, failure: Failure, request: FailedRequest) -> str:
    """What was free when the capture ended, where that was before the failure; "" where it is not known."""
    since_s = seconds_since_capture(facts, failure.at_ns)
    allocator = (
        "" if facts.memory.is_empty or _is_host(failure) else allocator_of(facts, request, facts.memory.allocators)
    )
    table = facts.memory.snapshots
    if since_s <= 0 or not allocator or not _has_limit(table, allocator):
        return ""
    last = table.rows_of(allocator).stop - 1
    free, largest = float(table.free_bytes[last]), float(table.largest_free_bytes[last])
    piece = "" if math.isnan(largest) else f", at most {size(largest)} in one piece"
    return (
        f"When the capture ended, {number(since_s)} s before, {size(free)} of "
        f"{size(free + float(table.in_use_bytes[last]))} were free{piece}."
    )


def _remedy(facts: Facts, failure: Failure, request: FailedRequest) -> str:
    """Why the trace does not tell what lived, and on the last line what to do."""
    memory = facts.memory
    if memory.remedy:
        return memory.remedy
    if request.allocator and not any(name.endswith(request.allocator) for name in memory.allocators):
        return f"The allocator {request.allocator} reports nothing to TensorFlow's profiler."
    told = "The capture did not record the moment of the failure"
    if failure.selection:
        return f"{told}, but {failure.selection}. Capture all steps:\nwith tfprof.profile() as prof: ..."
    since_s = seconds_since_capture(facts, failure.at_ns)
    if since_s <= 0:
        return f"{told}: no allocation before it is in the trace."
    return (
        f"{told}: it had ended {number(since_s)} s before. Raise the bounds at which it ends:\n"
        "with tfprof.profile(max_seconds=600, max_bytes=2**30) as prof: ..."
    )
