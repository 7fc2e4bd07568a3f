"""A failed allocation and the trace of its program -> `MemoryFailure`: what lived at that moment, and what to do."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace

import pandas as pd

from ...trace.capture_facts import Failure
from ..base.units import PS_PER_MS
from ..base.wording import number, size
from ..facts.facts import Facts
from ..layers.layers import layers_of
from ..memory.memory_snapshots import Snapshots
from .batch_estimate import Estimate, batch_size_of, estimate_batch, progress_of
from .holders import Holders, holders_at, lines_of, no_holders
from .moment import Moment, allocator_of, find_moment, seconds_since_capture
from .request import FailedRequest, parse_failure
from .words import Action, Setting, actions, failure_html, failure_lines, sentence

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
    the device yet counts as free, so the largest block may be smaller. NaN where that is more than the request, which failed."""
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


def failure_alone(failure: Failure, *, remedy: str = "", machine: str = "") -> MemoryFailure:
    """What the message alone tells, where no trace is about that moment.

    Args:
        failure: as the capture kept it.
        remedy: why nothing was recorded and, on its last line, what to paste to record it.
        machine: what is known of the memory of the machine.
    """
    request = parse_failure(failure.text)
    bare = _bare(failure, request, no_holders())
    return _without_moment(bare, Setting(is_vague=request.is_vague, machine=machine), remedy, failure.batch_size)


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
    largest = free * (1 - fragmentation)
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
    free, fragmentation = float(table.free_bytes[last]), float(table.fragmentation_ratio[last])
    piece = "" if math.isnan(fragmentation) else f", at most {size(free * (1 - fragmentation))} in one piece"
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
