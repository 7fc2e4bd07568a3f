"""Trace -> what the timeline draws beside events: counters, and flows from one event to another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..trace.arrays import Float64, Int32, Int64, UInt8
from ..trace.stats import ranges
from ..trace.trace import ALLOCATORS_PLANE, MAX_PS, StatKind, Trace
from .common import PS_PER_MS, PS_PER_NS, dense_codes, match_in_time, unique_codes
from .events import context_ends, int_stat_at, launch_links, nearest_marked
from .input.iterators import CONSUME, PRODUCE
from .input.tf_data import TfData
from .memory.memory import MemoryProfile
from .names import by_ends, by_name
from .table import table

FLOWS = table(
    """
    flows: an event that made another start
        kind        text   `launch`, `producer`, `pool`, `tf_data` or `send_recv`
        from_event  int    the cause, a row of the events table
        to_event    int    the effect, a row of the events table
        from_name   text   of the cause
        to_name     text   of the effect
        delay_ns    float  from the start of the cause to that of the effect

    Empty where no event made another start. The kinds: `launch` leads from the call that enqueued a kernel or
    a copy to its run on the device, `producer` and `pool` from who handed work on to the thread that did it, `tf_data`
    from a stage that made an element to the stage that took it, `send_recv` from the device that sent a tensor to the
    one that got it.
    """,
    of_facts=lambda facts: compute_flows(facts.trace),
    file="flows",
    read=lambda results: flow_table(results.trace, results.flows),
)

COUNTERS = table(
    """
    counters: a change of a counter, by counter, then time
        counter  text   its name
        unit     text   of its values
        time_ms  float  after the trace origin
        value    float  until the next change

    Counters are the bytes in use of allocators, the elements in buffers of tf.data, what devices recorded, and the
    samples of `system`, whose totals are told as rates. Empty where there are none.
    """,
    of_facts=lambda facts: compute_counters(facts.trace, facts.memory, facts.tf_data, facts.system),
    of_hosts=lambda _: Counters(()),
    file="counters",
    read="counters.frame",
)

KINDS = ("launch", "producer", "pool", "tf_data", "send_recv")
"""What a flow's `kind` counts: a device ran what the host enqueued, the runtime (`_p` to `_c`) or a thread pool handed work on, a
tf.data element was taken, a device sent a tensor."""


_LAUNCH, _PRODUCER, _POOL, _TF_DATA, _SEND_RECV = range(len(KINDS))
_POOL_CONTEXT = 15
"""`ThreadpoolEvent` among the types of contexts. Source: semantics 2.3."""
_END = re.compile(r"\A(?:_send_)?(?:_recv_)?|:[^:]*\Z")
"""What tells apart the names of the two nodes that carry one tensor between graphs."""

_FEW_LEVELS = 32
"""Up to which a walk from level to level is quicker than a look at all events."""

Links = tuple[Int64, Int64]


@dataclass(frozen=True, eq=False, repr=False)
class Flows:
    """All flows of a trace, by `from_event`, then `to_event`. Differs from XProf: each consumer of a repeated context has the
    flow from the producer before it, not from all."""

    from_event: Int32
    """Row in the trace of the event that made the other start."""
    to_event: Int32
    kind: UInt8
    """Index into `KINDS`."""

    def __repr__(self) -> str:
        counts = np.bincount(self.kind, minlength=len(KINDS))
        return f"Flows({', '.join(f'{n} {kind}' for kind, n in zip(KINDS, counts.tolist(), strict=True))})"


def compute_flows(trace: Trace) -> Flows:
    """Find what made what start, within each session of each host: ids mean nothing beyond it."""
    made, used, key = context_ends(trace)
    producer, consumer = _pairs(trace, made, used, key)
    of_pool = np.zeros(trace.n_events, np.bool_)
    of_pool[made] = int_stat_at(trace, "_pt", made) == _POOL_CONTEXT
    is_pool = of_pool[producer]
    found: list[tuple[int, Links]] = [
        (_LAUNCH, launch_links(trace)),
        (_PRODUCER, (producer[~is_pool], consumer[~is_pool])),
        (_PRODUCER, told_links(trace)),
        (_POOL, (producer[is_pool], consumer[is_pool])),
        (_TF_DATA, _element_flows(trace)),
        (_SEND_RECV, _tensor_flows(trace)),
    ]
    # Rows fit 32 bits, and captures have a flow for every few events.
    source, target = (np.concatenate([links[end] for _, links in found]).astype(np.int32) for end in (0, 1))
    kind = np.repeat(np.array([one for one, _ in found], np.uint8), [len(links[0]) for _, links in found])
    order = np.argsort(source.astype(np.int64) << 32 | target, kind="stable")
    order = order[source[order] != target[order]]
    return Flows(from_event=source[order], to_event=target[order], kind=kind[order])


def flow_table(trace: Trace, flows: Flows) -> pd.DataFrame:
    delay_ps = trace.start_ps[flows.to_event] - trace.ends(flows.from_event)
    return pd.DataFrame(
        {
            "kind": pd.Categorical.from_codes(flows.kind.astype(np.int8), categories=pd.Index(KINDS, dtype=object)),
            "from_event": flows.from_event.astype(np.int64),
            "to_event": flows.to_event.astype(np.int64),
            "from_name": _names(trace, flows.from_event),
            "to_name": _names(trace, flows.to_event),
            "delay_ns": delay_ps / PS_PER_NS,
        }
    )


def _names(trace: Trace, events: Int32) -> pd.Categorical:
    used, codes = unique_codes(trace.name_id[events])
    labels = pd.Index([trace.strings[i] for i in used.tolist()], dtype=object)
    return pd.Categorical.from_codes(codes, categories=labels)


def told_links(trace: Trace) -> Links:
    """Arrows that a reader found: `flow_out` of an event is among `flow_in` of the other, unique in all that may be merged."""
    made, taken = trace.keyed_stats("flow_out"), trace.keyed_stats("flow_in")
    if not len(made.event) or not len(taken.event):
        none = np.empty(0, np.int64)
        return none, none
    texts, place = np.unique(taken.bits[taken.kind == StatKind.STRING], return_inverse=True)
    ids = [_numbers(trace.strings[int(text)]) for text in texts.tolist()]  # one turn per distinct text
    count = np.array([len(one) for one in ids], np.int64)
    target = np.repeat(taken.event[taken.kind == StatKind.STRING], count[place])
    wanted = np.concatenate([np.empty(0, np.int64), *(ids[i] for i in place.tolist())])
    order = np.argsort(made.bits.view(np.int64), kind="stable")
    known = made.bits.view(np.int64)[order]
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    is_known = known[at] == wanted
    return made.event[order[at[is_known]]].astype(np.int64), target[is_known].astype(np.int64)


def _numbers(text: str) -> Int64:
    return np.array([int(one) for one in text.split() if one.isdecimal() and len(one) < 19], np.int64)


def _pairs(trace: Trace, made: Int64, used: Int64, key: Int64) -> Links:
    """All pairs of equal key, but where several are on both sides the last producer before each consumer, else the first."""
    own, theirs = key[: len(made)], key[len(made) :]
    n_keys = int(key.max(initial=-1)) + 1
    n_made, n_used = np.bincount(own, minlength=n_keys), np.bincount(theirs, minlength=n_keys)
    is_reused = (n_made > 1) & (n_used > 1)
    order = np.argsort(own, kind="stable")
    first = np.cumsum(n_made) - n_made
    count = np.where(is_reused, 0, n_made)[theirs]
    source = made[order[ranges(first[theirs], count)]]
    target = np.repeat(used, count)
    own_again, their_again = np.flatnonzero(is_reused[own]), np.flatnonzero(is_reused[theirs])
    nearest = match_in_time(
        (theirs[their_again],),
        trace.start_ps[used[their_again]],
        (own[own_again],),
        trace.start_ps[made[own_again]],
        prefers_later=False,
    )
    return np.append(source, made[own_again[nearest]]), np.append(target, used[their_again])


def _element_flows(trace: Trace) -> Links:
    """From where a tf.data stage made an element to where it was taken, by (session, stage, element). Source: semantics 8.2."""
    none = np.empty(0, np.int64)
    if "element_id" not in trace.string_ids:
        return none, none
    numbered = np.flatnonzero(trace.has_stat("element_id"))
    made, taken = (_named(trace, numbered, names) for names in (PRODUCE, CONSUME))
    if not len(made) or not len(taken):
        return none, none
    made, made_stage = _producing_stages(trace, made)
    taker = trace.nesting.parent[taken].astype(np.int64)
    inside = (taker >= 0) & trace.has_stat("id")[taker]
    taken, taker = taken[inside], taker[inside]
    session = trace.session_id
    found = match_in_time(
        (session[made].astype(np.int64), made_stage, int_stat_at(trace, "element_id", made)),
        trace.start_ps[made],
        (session[taken].astype(np.int64), int_stat_at(trace, "id", taker), int_stat_at(trace, "element_id", taken)),
        trace.start_ps[taken],
        prefers_later=True,
    )
    return made[found >= 0], taken[found[found >= 0]]


def _named(trace: Trace, events: Int64, names: Sequence[str]) -> Int64:
    wanted = np.zeros(len(trace.strings), np.bool_)
    wanted[[trace.string_ids[name] for name in names if name in trace.string_ids]] = True
    return events[wanted[trace.name_id[events]]]


def _producing_stages(trace: Trace, made: Int64) -> Links:
    """The produce events inside which an iterator was called, and the `parent_id` of the first one called."""
    above = trace.nesting.parent
    is_made = np.zeros(trace.n_events, np.bool_)
    is_made[made] = True
    called = np.flatnonzero(trace.has_stat("parent_id"))
    produce = above[called]
    for _ in range(_FEW_LEVELS):
        is_between = (produce >= 0) & ~is_made[produce]
        if not is_between.any():
            break
        produce[is_between] = above[produce[is_between]]
    else:  # deeper than programs nest
        produce = np.where(produce >= 0, nearest_marked(above, is_made)[produce], -1)
    called, produce = called[produce >= 0], produce[produce >= 0]
    unique, first = np.unique(produce, return_index=True)
    return unique.astype(np.int64), int_stat_at(trace, "parent_id", called[first])


def _tensor_flows(trace: Trace) -> Links:
    """From the op that sent a tensor to the one that received it: by ops at both ends, or by name but for a prefix."""
    is_send = _ends_with(trace, ("Send", "HostSend"))
    is_receive = _ends_with(trace, ("Recv", "HostRecv"))
    sent, received = np.flatnonzero(is_send[trace.name_id]), np.flatnonzero(is_receive[trace.name_id])
    none = np.empty(0, np.int64)
    if not len(sent) or not len(received):
        return none, none
    both = np.concatenate([sent, received])
    start, end = (trace.string_stat(key)[both].astype(np.int64) for key in ("from", "to"))
    has_ends = (start >= 0) & (end >= 0)
    codes: dict[str, int] = {}
    code_of = by_name(trace, lambda name: codes.setdefault(_END.sub("", name), len(codes)), np.int64, among=both)
    name = code_of[trace.name_id[both]]
    key, n = dense_codes(
        trace.session_id[both].astype(np.int64), np.where(has_ends, start, name), np.where(has_ends, end, -1)
    )
    return _in_turn(trace, sent, received, key, n)


def _ends_with(trace: Trace, types: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    """For each string whether it is the name of an op of one of these types."""
    endings = tuple(f":{mark}{kind}" for kind in types for mark in ("_", ""))
    return by_ends(trace, lambda name, *_: name.endswith(endings))


def _in_turn(trace: Trace, sent: Int64, received: Int64, key: Int64, n_keys: int) -> Links:
    own, theirs = key[: len(sent)], key[len(sent) :]
    is_even = np.bincount(own, minlength=n_keys) == np.bincount(theirs, minlength=n_keys)
    left, right = (_by_key_and_time(trace, rows, of, is_even) for rows, of in ((sent, own), (received, theirs)))
    odd_sent, odd_received = np.flatnonzero(~is_even[own]), np.flatnonzero(~is_even[theirs])
    found = match_in_time(
        (theirs[odd_received],),
        trace.ends(received[odd_received]),
        (own[odd_sent],),
        trace.start_ps[sent[odd_sent]],
        prefers_later=False,
    )
    matched = found >= 0
    return (np.append(left, sent[odd_sent[found[matched]]]), np.append(right, received[odd_received[matched]]))


def _by_key_and_time(trace: Trace, rows: Int64, key: Int64, is_kept: npt.NDArray[np.bool_]) -> Int64:
    kept = is_kept[key]
    rows, key = rows[kept], key[kept]
    return rows[np.lexsort((trace.start_ps[rows], key))]


_BUFFERS = {
    "buffered_elements": ("buffer", "elements"),
    "buffered_bytes_MB": ("buffer", "MB"),
    "buffer_limit": ("buffer limit", "elements"),
    "parallelism": ("parallel calls", "calls"),
    "max_batch_results": ("batches ahead", "batches"),
}
"""Stats of tf.data iterators that change while they run -> what they count and its unit."""
_LEVELS = ("buffered_elements", "buffered_bytes_MB")
"""Of these a constant is a finding (a buffer that is always empty); settings are shown only when autotuning changed them."""
_RAM = re.compile(r"(\d+) out of \d+")
_GAUGES = {
    "rss_bytes": ("Memory of this process", "bytes"),
    "memory_available_bytes": ("Memory available", "bytes"),
    "n_threads": ("Threads of this process", "threads"),
    "gpu_memory_bytes": ("GPU memory in use", "bytes"),
}
"""Samples that hold at their moment."""
_LOADS = {
    "cpu_pct": ("CPU, all cores", "%"),
    "process_cpu_pct": ("CPU of this process", "cores"),
    "gpu_pct": ("GPU load", "%"),
}
"""Samples that are the mean since the sample before."""
_OF_A_CORE = ("process_cpu_pct",)
"""Of these 100 is one core."""
_TOTALS = {
    "disk_read_bytes": ("Disk read", "bytes/s"),
    "disk_write_bytes": ("Disk written", "bytes/s"),
    "net_recv_bytes": ("Network received", "bytes/s"),
    "net_sent_bytes": ("Network sent", "bytes/s"),
}
"""Samples that only grow; shown as a rate."""
_SYSTEM_ORDER = (
    *("cpu_pct", "process_cpu_pct", "n_threads", "rss_bytes", "memory_available_bytes", "gpu_pct", "gpu_memory_bytes"),
    *_TOTALS,
)
"""GPUs of their own follow, where there are several, then cores."""
_ONE_GPU = re.compile(r"gpu(\d+)_(pct|memory_bytes)")
_ONE_CORE = re.compile(r"cpu(\d+)_pct")
MAX_CORES = 16
"""Of a machine with more the busiest have a counter, and its name says of how many; `Profile.system` has all."""
MAX_GPUS = 16
"""Likewise the first, as a machine has them."""


@dataclass(frozen=True)
class Counter:
    """One quantity over time: `value[i]` holds from `time_ps[i]` until the next time."""

    name: str
    unit: str
    kind: str
    """`memory`, `input`, `device` or `system`."""
    time_ps: Int64
    """Ascending, after the trace origin; samples of the machine may lie before it."""
    value: Float64
    before: float = float("nan")
    """What it was before the first time; NaN where nobody knows."""


@dataclass(frozen=True, eq=False, repr=False)
class Counters:
    """Everything of the capture that rose and fell."""

    counters: tuple[Counter, ...]
    """Memory by allocator first, then tf.data from the consumer to its sources, devices, the machine. Names are unique."""

    def __repr__(self) -> str:
        return f"Counters({len(self.counters)} of {len(self)} values)"

    def __len__(self) -> int:
        return sum(len(counter.time_ps) for counter in self.counters)

    @cached_property
    def offsets(self) -> Int64:
        """The values of counter `k` are rows `offsets[k]:offsets[k + 1]` of all values, one counter after the other."""
        return np.cumsum([0, *(len(counter.time_ps) for counter in self.counters)], dtype=np.int64)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per value: `counter, unit` (categories), `time_ms, value`; by counter, then time. Empty when there is none."""
        sizes = np.diff(self.offsets)
        units = [counter.unit for counter in self.counters]
        kinds = sorted(set(units))
        codes = np.repeat(np.arange(len(units)), sizes)
        unit_of = np.array([kinds.index(unit) for unit in units], np.int64)
        time_ps = np.concatenate([np.empty(0, np.int64), *(counter.time_ps for counter in self.counters)])
        return pd.DataFrame(
            {
                "counter": pd.Categorical.from_codes(codes, pd.Index([counter.name for counter in self.counters])),
                "unit": pd.Categorical.from_codes(np.repeat(unit_of, sizes), pd.Index(kinds)),
                "time_ms": time_ps / PS_PER_MS,
                "value": np.concatenate([np.empty(0), *(counter.value for counter in self.counters)]),
            }
        )


def compute_counters(
    trace: Trace, memory: MemoryProfile, tf_data: TfData, system: pd.DataFrame | None = None
) -> Counters:
    """Collect the counters of a capture; those without a value are left out."""
    found = [
        *_of_memory(memory),
        *_of_input(trace, tf_data),
        *_of_devices(trace, memory.allocators),
        *_of_system(system),
    ]
    seen: dict[str, int] = {}
    named = []
    for one in found:  # names that come again get a number
        n = seen[one.name] = seen.get(one.name, 0) + 1
        named.append(one if n == 1 else replace(one, name=f"{one.name} {n}"))
    return Counters(tuple(one for one in named if len(one.time_ps)))


def _of_memory(memory: MemoryProfile) -> Iterator[Counter]:
    """Bytes in use, stack and heap, of each allocator after every memory event."""
    snapshots = memory.snapshots
    in_use = snapshots.in_use_bytes.astype(np.float64)
    for allocator in snapshots.allocators:
        rows = snapshots.rows_of(allocator)
        if rows.start == rows.stop:
            continue
        # The first event reports the state after it, so it is undone.
        change = float(snapshots.allocation_bytes[rows.start])
        before = float(in_use[rows.start]) + (change if snapshots.is_free[rows.start] else -change)
        yield Counter(allocator, "bytes", "memory", snapshots.time_ps[rows], in_use[rows], max(0.0, before))


def _of_input(trace: Trace, tf_data: TfData) -> Iterator[Counter]:
    """What the calls of tf.data iterators say of their buffers and of what autotuning set."""
    event = tf_data.calls["event"].to_numpy(np.int64)
    iterator = tf_data.calls["iterator"].to_numpy(np.int64)
    short = _short_names(tf_data)
    order = np.lexsort((trace.start_ps[event], iterator)) if len(event) else np.empty(0, np.int64)
    event, iterator = event[order], iterator[order]
    for key, (what, unit) in _BUFFERS.items():
        value = trace.int_stat(key, default=-1)[event] if key in trace.string_ids else np.empty(0, np.int64)
        known = np.flatnonzero(value >= 0)
        found, first = np.unique(iterator[known], return_index=True)
        own_rows = np.split(known, first)[1:]
        for one, rows in zip(found.tolist(), own_rows, strict=True):  # bounded by the number of iterators
            own = value[rows].astype(np.float64)
            if key not in _LEVELS and (own == own[0]).all():
                continue
            if key == "buffered_bytes_MB" and not own.any():  # whole megabytes: small elements are always 0
                continue
            yield Counter(f"{short[one]} {what}", unit, "input", trace.start_ps[event[rows]], own)
    yield from _machine_memory(trace)


def _short_names(tf_data: TfData) -> dict[int, str]:
    """For each iterator the shortest end of its path that no other iterator's path has."""
    paths = {
        int(id_): [str(pipeline), *str(long).removeprefix("Iterator::").split("::")]
        for id_, pipeline, long in zip(
            *(tf_data.iterators[name].tolist() for name in ("id", "pipeline", "long_name")), strict=True
        )
    }
    ends: dict[tuple[str, ...], int] = {}
    for path in paths.values():  # bounded by the iterators and the depth of their paths
        for length in range(1, len(path) + 1):
            end = tuple(path[-length:])
            ends[end] = ends.get(end, 0) + 1
    names = {}
    for id_, path in paths.items():
        length = next((k for k in range(1, len(path)) if ends[tuple(path[-k:])] == 1), len(path) - 1)
        names[id_] = "::".join(path[-length:])
    return names


def _machine_memory(trace: Trace) -> Iterator[Counter]:
    """Memory of the machine in use, which each call of a tf.data root iterator records: "2473 out of 25276 (9.78%)"."""
    events = np.unique(trace.keyed_stats("ram_usage_megabytes").event)
    if not len(events):
        return
    text, place = np.unique(trace.string_stat("ram_usage_megabytes")[events], return_inverse=True)
    matches = [_RAM.match(trace.strings[i]) if i >= 0 else None for i in text.tolist()]
    used = np.array([float(match[1]) if match else np.nan for match in matches])[place]
    rows = np.flatnonzero(np.isfinite(used))
    rows = rows[np.argsort(trace.start_ps[events[rows]], kind="stable")]
    yield Counter("Machine memory in use", "MB", "system", trace.start_ps[events[rows]], used[rows])


def _of_devices(trace: Trace, allocators: Sequence[str]) -> Iterator[Counter]:
    """Counters of devices (`counter_value`) and of old timelines, without allocators that the memory profile has."""
    counts = trace.keyed_stats("counter_value")
    events, bits = counts.event, counts.bits
    if not len(events):
        return
    value = np.where(counts.kind == StatKind.DOUBLE, bits.view(np.float64), bits.view(np.int64))
    key = trace.plane_id[events].astype(np.int64) * len(trace.strings) + trace.name_id[events]
    order = np.lexsort((trace.start_ps[events], key))
    events, value, key = events[order], value[order].astype(np.float64), key[order]
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    unit = trace.string_stat("counter_unit")
    for low, high in zip(starts, np.append(starts[1:], len(key)), strict=True):  # one turn per counter
        plane = trace.planes[trace.plane_id[events[low]]].name.removeprefix("/device:")
        own_name = trace.strings[trace.name_id[events[low]]]
        if plane == ALLOCATORS_PLANE and own_name in allocators:
            continue
        name = f"{plane} {own_name}"
        finite = np.isfinite(value[low:high])
        told = trace.strings[unit[events[low]]] if unit[events[low]] >= 0 else ""
        yield Counter(name, told, "device", trace.start_ps[events[low:high]][finite], value[low:high][finite])


def _of_system(system: pd.DataFrame | None) -> Iterator[Counter]:
    """CPU, memory, disk, network and GPU as sampled; loads and rates begin with the time that they are the mean of."""
    if system is None or system.empty:
        return
    time_ps = np.round(system["time_ms"].to_numpy(np.float64) * PS_PER_MS).clip(-MAX_PS, MAX_PS).astype(np.int64)
    seconds = np.diff(time_ps) / 1e12
    for column, name, unit in _system_columns(system):
        sample = system[column].to_numpy(np.float64)
        time, value = time_ps, sample
        if column in _TOTALS:
            time, value = time_ps[:-1], np.diff(sample) / np.where(seconds > 0, seconds, np.nan)
        elif column.endswith("_pct"):
            time, value = time_ps[:-1], sample[1:] / (100 if column in _OF_A_CORE else 1)
        known = np.isfinite(value)
        yield Counter(name, unit, "system", time[known], value[known])


def _system_columns(system: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Which samples are shown, with the name and unit of each."""
    kinds = _GAUGES | _LOADS | _TOTALS
    for column in _SYSTEM_ORDER:
        if column in system:
            yield column, *kinds[column]
    columns = [str(column) for column in system.columns]
    gpus = [match for match in map(_ONE_GPU.fullmatch, columns) if match]
    numbers = list(dict.fromkeys(match[1] for match in gpus))
    # One GPU alone is what the mean and the sum are of.
    for match in gpus if len(numbers) > 1 else ():
        if match[1] in numbers[:MAX_GPUS]:
            what, unit = ("load", "%") if match[2] == "pct" else ("memory in use", "bytes")
            yield match[0], f"GPU {match[1]} {what}{_share(MAX_GPUS, len(numbers), 'GPUs')}", unit
    cores = [match for match in map(_ONE_CORE.fullmatch, columns) if match]
    load = {match[0]: float(np.nan_to_num(system[match[0]].to_numpy(np.float64)).mean()) for match in cores}
    busiest = sorted(load, key=lambda column: -load[column])[:MAX_CORES]
    for match in cores:
        if match[0] in busiest:
            yield match[0], f"CPU core {match[1]}{_share(MAX_CORES, len(cores), 'cores')}", "%"


def _share(limit: int, count: int, what: str) -> str:
    return f" ({limit} of {count} {what})" if count > limit else ""
