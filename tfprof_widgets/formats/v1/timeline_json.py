"""The events of a `timeline-N.json` of TensorFlow's first profiler -> its ops, tensors and counters as lists.

Source: tensorflow/python/client/timeline.py, which `tf.compat.v1.train.ProfilerHook` and tfprof write with.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...errors import TraceError
from ...trace.bounds import clean_text
from ..chrome.json_reader import Document
from ..chrome.left_out import LeftOut, OddEventError
from ..chrome.members import args_of, id_of, phase_of, picoseconds
from .graph_def import source_of
from .step_stats import RECEIVED, Execution

_IS_TIMELINE = re.compile(rb'(?:CPU|GPU|cpu|gpu):\d+[^"\\\s]{0,60} Compute"|"Op (?:scheduling|execution) threads: ')
_INPUT = re.compile(r"input\d+$")
_MOST_INPUTS = 10_000


class NotATimelineError(TraceError):
    """The file holds what timelines of TensorFlow do not."""


def is_timeline(content: bytes) -> bool:
    """Whether a Chrome trace names its processes as TensorFlow's first profiler does."""
    return _IS_TIMELINE.search(content) is not None


@dataclass(slots=True)
class TimelineObject:
    """A tensor: where and when it was made, and what a snapshot says of it."""

    name: str
    process: Any
    start_ns: int
    end_ns: int = -1
    snapshot: str = ""
    snapshot_ns: int = -1


@dataclass
class TimelineFile:
    """What is collected of one file."""

    processes: dict[Any, str] = field(default_factory=dict)
    ops: list[tuple[tuple[Any, Any], Execution]] = field(default_factory=list)
    """Process and thread, and what an event tells of the execution: neither its step nor its device."""
    arrows: dict[tuple[Any, Any, int], list[tuple[str, int]]] = field(default_factory=dict)
    """By process, thread and time the ops that an arrow leads from to what starts there."""
    objects: dict[tuple[Any, Any], TimelineObject] = field(default_factory=dict)
    made: list[TimelineObject] = field(default_factory=list)
    counters: list[tuple[str, int, float]] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    left_out: LeftOut = field(default_factory=LeftOut)
    is_truncated: bool = False


def read_timeline(content: bytes) -> TimelineFile:
    """Collect the events of one file.

    Raises:
        NotATimelineError: it has other spans than ops.
        TraceError: it is damaged; the message says where.
    """
    document = Document(content)
    found = TimelineFile()
    for batch in document.events():
        found.left_out.take(batch, partial(_add, found))
    found.left_out.check_some(found_any=bool(found.ops or found.made or found.counters))
    found.is_truncated = document.is_truncated
    return found


def _add(found: TimelineFile, event: Any) -> None:
    phase = phase_of(event)
    if phase == "M":
        if event.get("name") == "process_name":
            found.processes[id_of(event, "pid")] = str(args_of(event).get("name", ""))
    elif phase == "X":
        found.ops.append(_op(event))
    elif phase in "NOD":
        _object(found, event, phase)
    elif phase == "C":
        time_ns = picoseconds(event, "ts") // 1000
        found.counters += [(name, time_ns, _finite(value)) for name, value in args_of(event).items()]
    elif phase in "tf":
        key = id_of(event, "pid"), id_of(event, "tid"), picoseconds(event, "ts") // 1000
        found.arrows.setdefault(key, []).append(source_of(clean_text(event.get("name", ""))))
    elif phase != "s":
        found.others[phase] += 1


def _op(event: dict[str, Any]) -> tuple[tuple[Any, Any], Execution]:
    args = args_of(event)
    if event.get("cat") != "Op" or "name" not in args:
        raise NotATimelineError(f"a span of category {str(event.get('cat'))[:40]!r}")
    if len(args) > _MOST_INPUTS:
        raise OddEventError(f"it has {len(args)} args, more than {_MOST_INPUTS}, the limit", "too many args")
    node, op = clean_text(args["name"]), clean_text(args.get("op", ""))
    start_ns = picoseconds(event, "ts") // 1000
    duration_ns = max(0, picoseconds(event, "dur") // 1000) if event.get("dur") is not None else 0
    return (id_of(event, "pid"), id_of(event, "tid")), Execution(
        step=-1,
        device="",
        node=node,
        name=node.partition(":")[0],
        op="" if op == "unknown" else op,
        inputs=tuple(source_of(clean_text(value)) for name, value in args.items() if _INPUT.match(name)),
        start_us=start_ns // 1000,
        end_rel_us=duration_ns // 1000,
        start_ns=start_ns,
        duration_ns=max(1, duration_ns),
        sent_from="elsewhere" if op == RECEIVED else "",
    )


def _object(found: TimelineFile, event: dict[str, Any], phase: str) -> None:
    key = id_of(event, "pid"), id_of(event, "id")
    time_ns = picoseconds(event, "ts") // 1000
    known = found.objects.get(key)
    if phase == "N" or known is None:
        if phase == "D":
            found.others["D"] += 1
            return
        known = found.objects[key] = TimelineObject(clean_text(event.get("name", "")), key[0], time_ns)
        found.made.append(known)
    if phase == "D":
        known.end_ns = time_ns
    elif phase == "O":
        snapshot = args_of(event).get("snapshot")
        text = snapshot.get("tensor_description") if isinstance(snapshot, dict) else None
        known.snapshot, known.snapshot_ns = text if isinstance(text, str) else "", time_ns


def _finite(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise OddEventError(f"it counts {str(value)[:40]!r}, which is no number", "bad counter") from error
    return number if abs(number) < 1e300 else 0.0
