"""Trace -> what its hosts exchanged with each other: collectives, and tensors sent to and received from other tasks.

What streams of a device exchange is not here: see `analysis/hosts/communication.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Int64, Trace, UInt8
from ..base.event_names import by_ends, once
from ..base.matching import match_in_time
from ..base.op_names import OpCategory, OpNames

EXCHANGE_KINDS = ("collective", "send", "receive")
COLLECTIVE, SEND, RECEIVE = range(len(EXCHANGE_KINDS))

_COLLECTIVE = re.compile(r"Collective\w+|Nccl\w+")
_RECEIVED = "RecvTensor"
"""The arrival of a tensor of another task, as files of TensorFlow's first profiler note it."""
_BEGIN, _END = "ExecutorState::ProcessAsync::Start", "ExecutorState::ProcessAsync::Done"
"""What TensorFlow 2 notes of an op that waits, such as `_Recv`, in place of the op: when it began and when it was done."""
_TASK = re.compile(r"/job:[^/;]+(?:/replica:\d+)?(?:/task:\d+)?")
_PART = re.compile(r"/_\d+$")
"""What TensorFlow appends to the name of an op where it cuts a graph: to both ends, with different numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class Exchanges:
    """Exchanges of hosts with other tasks, by event; columns of equal length."""

    event: Int64
    """Row in the trace; of a tensor that was waited for the event with which the wait began."""
    kind: UInt8
    """Index into `EXCHANGE_KINDS`."""
    name: Int64
    """Index into `strings`: the full name, such as `CollectiveReduceV2:CollectiveReduceV2`."""
    start_ps: Int64
    end_ps: Int64

    def __len__(self) -> int:
        return len(self.event)


def is_collective(category: int, type_: str) -> bool:
    """Whether an op exchanges values with the same op of other hosts."""
    return category == OpCategory.TENSORFLOW and _COLLECTIVE.fullmatch(type_) is not None


def sends_to_other_tasks(trace: Trace) -> Int64:
    """The events that hand a tensor over for another task."""
    rows = _sends(trace)
    return rows[_leaves_task(trace, rows)]


@once
def find_exchanges(trace: Trace) -> Exchanges:
    """Find the exchanges of the hosts.

    `_Send` and `_Recv` count only between tasks: between the devices of one host they are copies. TensorFlow notes no event
    for the time in which a `_Recv` waits; it is the time from the start of the op to its end, which are two events.
    """
    on_host = trace.on_planes([plane.is_host for plane in trace.planes])
    kinds = by_ends(trace, _kinds_of, np.uint8)[trace.name_id]
    rows = np.flatnonzero((kinds < len(EXCHANGE_KINDS)) & on_host)
    rows = rows[(kinds[rows] != SEND) | _leaves_task(trace, rows)]
    begin, end_ps, names = _waits(trace, rows[kinds[rows] == SEND])
    event = np.append(rows, begin)
    order = np.argsort(event, kind="stable")
    return Exchanges(
        event=event[order],
        kind=np.append(kinds[rows], np.full(len(begin), RECEIVE)).astype(np.uint8)[order],
        name=np.append(trace.name_id[rows].astype(np.int64), names)[order],
        start_ps=trace.start_ps[event][order],
        end_ps=np.append(trace.ends(rows), end_ps)[order],
    )


def _sends(trace: Trace) -> Int64:
    """The events of ops that send a tensor, to other tasks or within this one."""
    is_send = by_ends(trace, lambda names, _: [name.endswith(":_Send") for name in names], np.bool_)
    return np.flatnonzero(is_send[trace.name_id])


def _kinds_of(names: list[str], parsed: OpNames) -> list[int]:
    """The kind of exchange that each name stands for, beyond the last one for none."""
    found = []
    for name, category, kind in zip(names, parsed.category.tolist(), parsed.type, strict=True):
        if is_collective(category, kind):
            found.append(COLLECTIVE)
        elif name.endswith(f":{_RECEIVED}"):
            found.append(RECEIVE)
        else:
            found.append(SEND if name.endswith(":_Send") else len(EXCHANGE_KINDS))
    return found


def _leaves_task(trace: Trace, rows: Int64) -> Bool:
    """For some events whether the key of the tensor that they send names two tasks: `/job:worker/task:0/...;..;/job:ps/...`."""
    key = trace.string_stat("key")[rows] if len(rows) else np.empty(0, np.int32)
    texts, place = np.unique(key, return_inverse=True)
    leaves = [text >= 0 and len(set(_TASK.findall(trace.strings[text]))) > 1 for text in texts.tolist()]
    return np.array(leaves, np.bool_)[place] if len(rows) else np.empty(0, np.bool_)


def _waits(trace: Trace, sends: Int64) -> tuple[Int64, Int64, Int64]:
    """Tensors of other tasks that were waited for: the event that began the wait, when it was over, and the tensor's name.

    Only sessions that also send to other tasks have them: which task a tensor comes from is told to its sender alone.
    """
    none = np.empty(0, np.int64)
    if not len(sends) or _BEGIN not in trace.string_ids:
        return none, none, none
    begun, done = (_receives(trace, name) for name in (_BEGIN, _END))
    begun = begun[np.isin(trace.session_id[begun], np.unique(trace.session_id[sends]))]
    begun = begun[~_is_local(trace, begun)]
    pair = match_in_time(
        (trace.session_id[begun].astype(np.int64), trace.int_stat("_p")[begun]),
        trace.start_ps[begun],
        (trace.session_id[done].astype(np.int64), trace.int_stat("_c")[done]),
        trace.start_ps[done],
        prefers_later=True,
    )
    begun, done = begun[pair >= 0], done[pair[pair >= 0]]
    is_after = trace.start_ps[done] >= trace.start_ps[begun]
    begun, done = begun[is_after], done[is_after]
    return begun, trace.start_ps[done], trace.string_stat("name")[begun].astype(np.int64)


def _receives(trace: Trace, name: str) -> Int64:
    """The events of a name that are of a `_Recv` op."""
    rows = np.flatnonzero(trace.names_matching([name]))
    kind = trace.string_stat("kernel_type")[rows]
    wanted = [trace.string_ids[one] for one in ("_Recv", "_HostRecv") if one in trace.string_ids]
    return rows[np.isin(kind, wanted)]


def _is_local(trace: Trace, begun: Int64) -> Bool:
    """For some waits whether their tensor was sent within the task: the same tensor of the same session has such a `_Send`."""
    rows = _sends(trace)
    local = rows[~_leaves_task(trace, rows)]
    sent = {
        (session, _PART.sub("", trace.strings[name].rpartition(":")[0]))
        for session, name in set(zip(trace.session_id[local].tolist(), trace.name_id[local].tolist(), strict=True))
    }
    if not sent:
        return np.zeros(len(begun), np.bool_)
    name, session = trace.string_stat("name")[begun], trace.session_id[begun]
    pairs, place = np.unique(np.stack([session, name]), axis=1, return_inverse=True)
    known = [(one, _PART.sub("", trace.strings[text])) in sent for one, text in pairs.T.tolist()]
    return np.array(known, np.bool_)[place.reshape(-1)]
