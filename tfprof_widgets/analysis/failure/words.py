"""A failed allocation -> its sentence, what to do, and its explanation as text and as HTML."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..base.framework_names import without_calls
from ..base.wording import percent, size, tail
from ..ops.eager_calls import EAGER_SCOPE
from .batch_estimate import Estimate
from .holders import Holders

if TYPE_CHECKING:
    from .memory_failure import MemoryFailure

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
    """What is known of the memory of the machine, a sentence."""
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
    return tail(" ".join(str(text).split()), room)


def _ended(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."
