"""What was live when an allocation failed -> who held it, and a batch size that is likely to fit."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import ITEM_BYTES
from ..common import PS_PER_NS, percent, plural, size, typed_table
from ..facts import Facts
from ..layers.layers import BACKWARD, FORWARD, layers_of
from ..memory.moments import BEFORE_CAPTURE, STACK, live_table, unknown_op
from ..names import parse_op_names
from ..ops.executions import EAGER_SCOPE
from ..table import table

BY_OP = table("""
    memory_failure.by_op: an op that held memory when it ran out, largest first
        op     text  that allocated it
        dtype  text  of the largest of its tensors
        shape  text  of the largest of its tensors
        *held
""")

BY_LAYER = table("""
    memory_failure.by_layer: a Keras layer that held memory when it ran out, largest first
        layer  text  its path
        kind   text  as in the layers table
        *held
""")

BY_LINE = table("""
    memory_failure.by_line: a line of code that held memory when it ran out, largest first
        line  text  `file:line`, or what is no line
        code  text  its text
        *held
""")

RESERVE_RATIO = 0.15
"""Of the capacity, for what fragmentation and rounding take."""
MIN_SCALED_RATIO = 0.05
"""Less of the memory than this, and the batch is not what fills it."""
_BATCHES = frozenset(("BatchV2", "ParallelBatch", "MapAndBatch"))
_EARLY = frozenset(("ReadVariableOp", "Const", "Identity", "NoOp", "VarHandleOp"))
"""Ops that wait for nothing of their layer: they run at the begin of the step."""
_WHOLE = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a step had come when it failed."""

    n_run: int
    """Layers whose forward pass had begun."""
    n_layers: int
    """Layers of the model; 0 where they are not known."""
    is_backward: bool
    """Whether the op that failed is of the backward pass or of the optimizer."""
    is_training: bool


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A batch size that is likely to fit."""

    batch_size: int | None
    """The one that failed; None where it is not known."""
    fits: int | None
    """None where it cannot be judged."""
    words: str


def batch_size_of(facts: Facts, told: int) -> int | None:
    """The batch size of the program: that of the call of Keras, else of the one batching iterator."""
    if told > 0:
        return told
    iterators = facts.input_pipeline.iterators
    found = set()
    for name, params in zip(iterators["name"], iterators["params"], strict=True):
        size_ = params.get("batch_size") if isinstance(params, dict) else None
        if str(name).rpartition("::")[2] in _BATCHES and isinstance(size_, int) and size_ > 0:
            found.add(size_)
    return found.pop() if len(found) == 1 else None


def progress_of(facts: Facts, step: int, until_ps: int, op: str) -> Progress:
    trace, layers = facts.trace, facts.layers
    is_training = step >= 0 and str(facts.step_frame["name"].iloc[step]).startswith("train")
    here = (facts.steps.event_step == step) & (trace.start_ps <= until_ps) & (facts.event_op >= 0)
    failed = facts.op_shares.name.index(op) if op in facts.op_shares.name else -1
    # Not what ran of the backward pass: its constants are there from the begin of the step on.
    is_after = failed >= 0 and (
        layers.op_phase[failed] == BACKWARD or layers.entries["kind"].iloc[layers.op_entry[failed]] == "optimizer"
    )
    ops = [i for i in np.unique(facts.event_op[here]).tolist() if facts.op_shares.type[i] not in _EARLY]
    entry = layers.op_entry[ops][layers.op_phase[ops] == FORWARD]
    run = {
        str(layer)
        for layer, kind in zip(layers.entries["layer"].iloc[entry], layers.entries["kind"].iloc[entry], strict=True)
        if kind == "layer"
    }
    leaves = _model_layers(facts, run)
    return Progress(
        n_run=min(len(run), len(leaves)) if leaves else len(run),
        n_layers=len(leaves),
        is_backward=bool(is_after),
        is_training=is_training,
    )


def _model_layers(facts: Facts, run: set[str]) -> list[str]:
    """The layers without parts of the model that runs, of all models that are alive; none where they are not known."""
    if facts.source_map is None or not run:
        return []
    known = facts.source_map.layers
    paths = {
        path for path, name in zip(known["layer"], known["class_name"], strict=True) if path and name != "InputLayer"
    }
    (root, _), *_ = Counter(path.partition("/")[0] for path in sorted(run)).most_common(1)
    below = [path for path in paths if path.startswith(f"{root}/")]
    around = {path.rpartition("/")[0] for path in below}
    return [path for path in below if path not in around]


def estimate_batch(
    live: pd.DataFrame,
    shape: tuple[int, ...] | None,
    requested_bytes: float,
    *,
    capacity_bytes: float,
    batch_size: int | None,
    progress: Progress,
) -> Estimate:

    def unknown(why: str) -> Estimate:
        return Estimate(batch_size=batch_size, fits=None, words=f"No batch size that fits is estimated: {why}.")

    if not (math.isfinite(capacity_bytes) and math.isfinite(requested_bytes)):
        return unknown("the size of the request or of the allocator is not known")
    if batch_size is None or batch_size < 2:
        return unknown("the batch size is not known" if batch_size is None else "the batch holds one sample")
    grows = np.array(
        [_grows(_dims(text), kind, batch_size) for text, kind in zip(live["shape"], live["kind"], strict=True)],
        np.bool_,
    )
    total = live["total_bytes"].to_numpy(np.float64)
    scaled, fixed = float(total[grows].sum()), float(total[~grows].sum())
    if _grows(shape or (), "layer", batch_size):
        scaled += requested_bytes
    else:
        fixed += requested_bytes
    if scaled < MIN_SCALED_RATIO * (scaled + fixed):
        return unknown(f"hardly any of the memory grows with the batch size of {batch_size:,}")
    factor, ahead = _ahead(progress)
    if not math.isfinite(factor):
        return unknown(ahead)
    usable = (1 - RESERVE_RATIO) * capacity_bytes
    most = (usable - fixed) / (scaled * factor) * batch_size
    words = (
        f"At batch size {batch_size:,} tensors of {size(scaled)} grow with the batch, {size(fixed)} do not{ahead}; "
        f"{percent(RESERVE_RATIO)} of {size(capacity_bytes)} stay free"
    )
    if most < 1:
        return unknown(f"{words[0].lower()}{words[1:]}, and even a batch of one sample does not fit")
    fits = 2 ** math.floor(math.log2(min(most, batch_size / 2)))
    return Estimate(
        batch_size=batch_size, fits=int(fits), words=f"{words}. An estimate, rounded down to a power of two."
    )


def _ahead(progress: Progress) -> tuple[float, str]:
    """By how much what grows with the batch would have grown until the end of the step, and why; NaN where unknown."""
    if progress.is_backward:
        return 1.5, "; half as much again is added for the rest of the backward pass"
    if not progress.n_layers or not progress.n_run:
        return math.nan, "how much of the step was still to come is not known"
    layers = progress.n_layers / progress.n_run
    words = f"; {progress.n_run} of {plural(progress.n_layers, 'layer')} had run, and the others are taken to need as much each"
    if progress.is_training:
        return 2 * layers, f"{words}, the backward pass as much again"
    return layers, words


def _grows(dims: tuple[int, ...], kind: str, batch_size: int) -> bool:
    if not dims:
        return False
    is_multiple = kind in ("layer", "loss", "metrics") and dims[0] % batch_size == 0 and dims[0] > 0 and batch_size >= 8
    return dims[0] == batch_size or is_multiple


def _dims(text: object) -> tuple[int, ...]:
    return tuple(int(part) for part in _WHOLE.findall(str(text)[:400]) if len(part) < 19)


NO_LINE = "line not known"


@dataclass(frozen=True, eq=False, repr=False)
class Holders:
    """What held the memory of one allocator at one moment."""

    live: pd.DataFrame
    """Columns of `MemoryProfile.live`, and `layer` and `kind` of each row."""
    by_op: pd.DataFrame
    by_layer: pd.DataFrame
    by_line: pd.DataFrame


def no_holders() -> Holders:
    """Those of a moment that was not recorded: tables without rows."""
    return Holders(pd.DataFrame(), *(typed_table((), table.types) for table in (BY_OP, BY_LAYER, BY_LINE)))


def holders_at(facts: Facts, allocator: str, row: int) -> Holders:
    """What was live just after a snapshot."""
    memory = facts.memory
    rows = memory.snapshots.rows_of(allocator)
    at_ps = int(memory.snapshots.time_ps[row])
    live = live_table(memory.snapshots, rows, memory.strings, at_ps=at_ps)
    in_use = float(memory.snapshots.in_use_bytes[row])
    parsed = parse_op_names(live["op"].tolist())
    placed = layers_of(
        parsed.name,
        [kind or "" for kind in parsed.type],
        facts.op_scopes,
        shares=facts.op_shares,
        source_map=facts.source_map,
    )
    lines = lines_of(parsed.name, facts)
    unknown = unknown_op(facts.hlo_ops.frame)
    own = [op if op in (BEFORE_CAPTURE, STACK) else "" if op else unknown for op in live["op"]]
    live = live.assign(
        holder=live["op"].where(live["op"] != "", unknown),
        layer=[name or layer for name, (layer, _) in zip(own, placed, strict=True)],
        kind=["other" if name else kind for name, (_, kind) in zip(own, placed, strict=True)],
        line=[name or line for name, (line, _) in zip(own, lines, strict=True)],
        code=["" if name else code for name, (_, code) in zip(own, lines, strict=True)],
    )
    return Holders(
        live=live,
        by_op=_sums(live, "holder", ("dtype", "shape"), in_use).rename(columns={"holder": "op"})[list(BY_OP.names)],
        by_layer=_sums(live, "layer", ("kind",), in_use)[list(BY_LAYER.names)],
        by_line=_sums(live, "line", ("code",), in_use)[list(BY_LINE.names)],
    )


def _sums(live: pd.DataFrame, key: str, described: Sequence[str], in_use: float) -> pd.DataFrame:
    """One row per value of a column, largest first; what describes it is that of its largest holder."""
    ranked = live.sort_values("total_bytes", ascending=False, kind="stable")
    groups = ranked.groupby(key, sort=False)
    frame = groups.agg(
        bytes=("total_bytes", "sum"),
        occurrences=("occurrences", "sum"),
        **{name: (name, "first") for name in described},
    ).reset_index()
    names = {name: _names(ops.tolist()) for name, ops in groups["op"]}
    frame["ops"] = pd.Series([names[name] for name in frame[key]], dtype=object)
    frame["ratio"] = frame["bytes"] / in_use if in_use > 0 else 0.0
    return frame.sort_values(["bytes", key], ascending=[False, True], kind="stable", ignore_index=True)


def _names(ops: list[str]) -> tuple[str, ...]:
    """Those of ops, each once; the rows that stand for no op are left out."""
    return tuple(dict.fromkeys(op for op in ops if op not in ("", BEFORE_CAPTURE, STACK)))


def lines_of(names: Sequence[str], facts: Facts) -> list[tuple[str, str]]:
    """The line that made each op, as `file:line` or the name of a bucket, and its text."""
    source = facts.source_lines
    entries = source.entries
    titles = dict(zip(source.files["file"], source.files["title"], strict=True))
    texts = [
        (bucket, "") if bucket else (f"{titles.get(file, file)}:{line}", code)
        for file, line, code, bucket in zip(
            entries["file"], entries["line"].tolist(), entries["code"], entries["bucket"], strict=True
        )
    ]
    entry = dict(zip(facts.op_shares.name, source.op_entry.tolist(), strict=True))
    found = [entry.get(name, entry.get(f"{EAGER_SCOPE}{name}", -1)) for name in names]
    return [texts[i] if i >= 0 else (NO_LINE, "") for i in found]


_TENSOR = re.compile(
    r"when allocating tensor with shape ?\[(?P<shape>[^\]]{0,400})\] and type (?P<dtype>\w+) on (?P<device>\S+)"
    r"(?: by allocator (?P<allocator>[^\[\n]{1,400}))?"
)
_ARRAY = re.compile(
    r"Unable to allocate .{1,40}? for an array with shape \((?P<shape>[^)]{0,400})\) and data type (?P<dtype>\S+)"
)
_BYTES = re.compile(
    r"(?:trying to allocate|[Ff]ailed to allocate request for [^(\n]{0,40}\(|[Ff]ailed to allocate) ?(\d{1,18}) ?(?:bytes|B\))"
)
_ORDINAL = re.compile(r"on device ordinal (\d{1,4})")
_NODE = re.compile(r"\{\{node ([^}\n]{1,400})\}\}")
_EAGER = re.compile(r"\[Op:([^\]\s]{1,200})\]")
_WRAPPED = re.compile(r"function_node __wrapped__\w{1,200}?_device_(\S{1,200}?)\}\}")
_COPY = re.compile(r"copying input tensor from \S+ to (\S+) in order to run (\w+)")
_SIZES = ITEM_BYTES | {"float": 4, "double": 8, "half": 2, "float128": 16, "longdouble": 16, "datetime64": 8}
"""Bytes of an element, by TensorFlow's names and by NumPy's."""
_MAX_BYTES = 2**63


@dataclass(frozen=True, kw_only=True)
class FailedRequest:
    """The request that failed, as far as the message tells it."""

    requested_bytes: float
    """NaN where the message has neither a size nor a shape with its type; without what an allocator adds to fill its blocks."""
    shape: tuple[int, ...] | None
    """None where the message has none; () is that of a number."""
    dtype: str
    """As TensorFlow or NumPy call it."""
    op: str
    """Name of the op in its graph, or the type of one that Python called; "" where the message has none."""
    allocator: str
    device: str
    """Short, such as "GPU:0"; "" where the message has none."""
    first_line: str

    @property
    def is_vague(self) -> bool:
        """Whether the message tells neither a size, nor an op, nor an allocator."""
        return math.isnan(self.requested_bytes) and not self.op and not self.allocator


def parse_failure(text: str) -> FailedRequest:
    """Read what TensorFlow, XLA or NumPy say; of another text its first line remains."""
    found = _TENSOR.search(text) or _ARRAY.search(text)
    named = found.groupdict() if found else {}
    shape = _shape(named["shape"]) if found else None
    dtype = named.get("dtype", "")
    told = _BYTES.search(text)
    copied = _COPY.search(text)
    wrapped = _WRAPPED.search(text)
    device = named.get("device") or (copied[1] if copied else wrapped[1] if wrapped else "")
    ordinal = _ORDINAL.search(text)
    node, eager = _NODE.search(text), _EAGER.search(text)
    op = node[1] if node else copied[2] if copied else eager[1] if eager else ""
    return FailedRequest(
        requested_bytes=float(told[1]) if told and not found else _bytes(shape, dtype),
        shape=shape,
        dtype=dtype,
        # The function that Keras made is no op that anybody knows.
        op="" if op.startswith("__inference_") else op,
        allocator=(named.get("allocator") or "").strip(),
        device=(device.rpartition("device:")[2] if "device:" in device else "")
        or (f"GPU:{ordinal[1]}" if ordinal else ""),
        first_line=next((line.strip() for line in text.splitlines() if line.strip()), ""),
    )


def _shape(text: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        return None
    return tuple(int(part) for part in parts)


def _bytes(shape: tuple[int, ...] | None, dtype: str) -> float:
    size = _SIZES.get(dtype.partition("[")[0])
    if shape is None or size is None:
        return math.nan
    n_bytes = math.prod(shape) * size
    return float(n_bytes) if n_bytes <= _MAX_BYTES else math.nan


_LATE_S = 5.0
"""The exception arrives later than its allocation failed, and clocks differ."""
_GPU = re.compile(r"GPU:(\d+)")


@dataclass(frozen=True, kw_only=True)
class Moment:
    allocator: str
    """The one that the message names; where it names none the one with the largest peak."""
    row: int
    """Of `Snapshots`: the last one before the failure."""
    op: str
    """The op that failed, as the trace calls it; "" where it is not in the trace."""
    step: int
    """Row of the `steps` table, -1 for none."""
    failed_ps: int
    """When it failed, after the trace origin: at that snapshot or later."""


def find_moment(facts: Facts, request: FailedRequest, at_ns: int, *, allocators: tuple[str, ...]) -> Moment | None:
    """The failure in a trace, None if missing: the end of the op's last execution, else the last allocation that worked."""
    trace, memory = facts.trace, facts.memory
    at_ps = (at_ns - trace.origin_ns) * PS_PER_NS
    if memory.is_empty or seconds_since_capture(facts, at_ns) > _LATE_S:
        return None
    allocator = allocator_of(facts, request, allocators)
    if not allocator:
        return None
    rows = memory.snapshots.rows_of(allocator)
    time_ps = memory.snapshots.time_ps[rows]
    op, event = _last_execution(facts, request.op, at_ps)
    if event >= 0:
        place = int(np.searchsorted(time_ps, trace.end_ps[event], side="right")) - 1
    else:
        made = np.flatnonzero(~memory.snapshots.is_free[rows] & (time_ps <= at_ps))
        place = int(made[-1]) if len(made) else -1
    if place < 0:
        return None
    row = rows.start + place
    by = event if event >= 0 else int(memory.snapshots.event[row])
    return Moment(
        allocator=allocator,
        row=row,
        op=op,
        step=int(facts.steps.event_step[by]),
        failed_ps=int(trace.end_ps[event] if event >= 0 else memory.snapshots.time_ps[row]),
    )


def seconds_since_capture(facts: Facts, at_ns: int) -> float:
    """For how long no session of the profiler had run when the exception arrived; negative where one ran, 0 where unknown."""
    stops = [session.stop_ps for session in facts.trace.sessions]
    return ((at_ns - facts.trace.origin_ns) * PS_PER_NS - max(stops)) / 1e12 if stops else 0.0


def allocator_of(facts: Facts, request: FailedRequest, allocators: tuple[str, ...]) -> str:
    """The name of the allocator in the trace; "" where it is not there."""
    memory = facts.memory
    if request.allocator:
        for name in memory.allocators:
            if name == request.allocator or name.endswith(f": {request.allocator}"):
                return name
        return ""
    gpu = _GPU.search(request.device)
    if gpu:
        names = [
            name for name in memory.allocators if re.search(rf"(?i)GPU_?{gpu[1]}(_bfc)?$|gpu_async_{gpu[1]}$", name)
        ]
        return names[0] if names else ""
    summary = memory.summary[memory.summary["allocator"].isin(allocators)]
    if summary.empty:
        return ""
    return str(summary["allocator"].iloc[int(summary["peak_bytes"].to_numpy().argmax())])


def _last_execution(facts: Facts, op: str, at_ps: int) -> tuple[str, int]:
    """Name and event of the last execution of an op, which its graph calls so, in the last step; -1 for none."""
    if not op:
        return "", -1
    occurrences, trace = facts.occurrences, facts.trace
    units = [i for i, name in enumerate(occurrences.name) if name == op or name.endswith(f"/{op}")]
    found = np.flatnonzero(np.isin(occurrences.op, units) & (trace.start_ps[occurrences.event] <= at_ps))
    if not len(found):
        return "", -1
    last = int(found[np.argmax(trace.end_ps[occurrences.event[found]])])
    event = int(occurrences.event[last])
    event_step = facts.steps.event_step
    if event_step[event] != event_step.max(initial=-1):  # an earlier step's: the one that failed left no event
        return "", -1
    return occurrences.name[int(occurrences.op[last])], event
