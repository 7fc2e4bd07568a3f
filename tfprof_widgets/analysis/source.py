"""Ops -> the `source_lines` table: the line or bucket that each op is charged to."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..read.hlo import live_buffers
from ..read.hlo_messages import Texts
from ..trace.arrays import Bool, Float64, Int32, Int64, UInt8
from ..trace.source_map import SourceMap, empty_source_map
from ..trace.stats import ranges
from ..trace.trace import Trace
from .common import Types, dense_codes, first_of, numbered, table_of_arrays, text_column, typed_table
from .layers.layers import KnownLayers, Layers
from .layers.ops_of_graph import OpMatch, match_ops
from .layers.scopes import OpScopes, op_scopes
from .names import framework_op
from .ops.executions import EAGER_SCOPE
from .ops.ops import OpSums, side_table
from .ops.shares import OpShares
from .places import (
    BUCKET_OF_TYPE,
    GRADIENT_SUMS,
    KERAS,
    KERAS_LOSS,
    KERAS_OPTIMIZER,
    TENSORFLOW,
    TF_DATA,
    FramePlaces,
    FrameTable,
    UserFiles,
    frame_places,
)
from .table import table
from .xla.programs import expressions
from .xla.units import HloUnits

PROGRAM_MEMORY = table(
    """
    program_memory: a buffer of an XLA program that lives when the program holds most, by program, the largest first
        program_id  int    of the program
        module      text   the program's name
        kind        text   `temporary`, `parameter`, `output`, `constant`; `unused` for what nothing lives in
        bytes       int    of the buffer
        peak_ratio  float  part of all buffers of the program
        name        text   of the instruction that gives it
        expression  text   the instruction as HLO text
        op_name     text   the framework op it was compiled from, empty without
        op_type     text   the type of that op, empty without
        layer       text   of the op, empty where nothing tells
        file        text   with the line that made the op, empty where nothing tells
        line        int    its number, 0 likewise

    What XLA planned to keep in the memory of each compiled program. TensorFlow's allocator sees such a program as
    one buffer of an unknown op; here are the buffers inside, at the moment when the program holds most. Empty where
    no compiled program ran, or where the trace does not hold its buffers. A reduced profile has none.
    """,
    of_facts=lambda facts: compute_program_memory(
        facts.trace, facts.occurrences.hlo, facts.op_shares, layers=facts.layers, lines=facts.source_lines
    ),
    file="program_memory",
    of_executions="memory of compiled programs",
)

SOURCE_LINES = table(
    """
    source_lines: a line of your code, or what no line is charged with, by side, most self time first
        device            text   the side it ran on, `Device` or `Host`
        file              text   its path, or the title of a notebook's cell; empty for what is no line
        line              int    its number, 0 for what is no line
        function          text   the function it is in
        code              text   its text
        bucket            text   what a row without a line stands for; empty for a line
        forward_time_us   float  self time of its ops but for gradients
        backward_time_us  float  the part that gradients take
        other_time_us     float  the rest
        *costs
        top_op            text   its op with the most self time

    Times are self times of the ops that a line made, in microseconds over the whole capture; gradients count for
    their forward line. What no line can be charged with has a row with a name in `bucket`, so that the rows of a side
    add up to all ops of it. Empty where no op ran.
    """,
    browser="+file:int line function code bucket",
    of_facts=lambda facts: compute_source_lines(
        facts.trace,
        facts.op_shares,
        facts.source_map,
        sums=facts.op_sums,
        scopes=facts.named_scopes,
        match=facts.op_match,
    ),
    file="source_lines",
    read="source_lines.frame",
)

UNKNOWN_LINE = -1
SEVERAL_LINES = -2
MIN_SAMPLES = 2
"""Fewer samples within the executions of an op type say nothing of where it is called."""
MIN_SHARE = 0.8
"""A type is a line's when so many of its samples are; in the table it is one row, however many lines run it."""

_LINE_TYPES: Types = {
    "file": object,
    "line": int,
    "function": object,
    "n_samples": int,
    "time_ms": float,
    "time_ratio": float,
}
_EAGER = "EagerLocalExecute: "
"""The event in which the user's thread has an eager op executed; the op's type stands behind it."""


def sampled_lines(trace: Trace, source_map: SourceMap) -> pd.DataFrame:
    """For how long the user's thread was at each line."""
    time_ps, inside = _times(trace, source_map)
    if not len(time_ps):
        return typed_table([], _LINE_TYPES)
    frame = source_map.samples["frame"].to_numpy()[inside]
    own_ps = np.append(np.diff(time_ps), 0)
    starts = np.sort(np.array([session.start_ps for session in trace.sessions], np.int64))
    session = np.searchsorted(starts, time_ps, side="right")
    own_ps[np.flatnonzero(np.diff(session))] = 0
    table = source_map.frames.join(source_map.files[["file"]].rename(columns={"file": "path"}), on="file")
    table["path"] = table["path"].astype(object).fillna("")
    known = frame >= 0
    rows = table.iloc[frame[known]][["path", "line", "function"]].rename(columns={"path": "file"})
    rows = rows.assign(n_samples=1, time_ms=own_ps[known] / 1e9)
    lines = rows.groupby(["file", "line"], as_index=False, sort=False).agg(
        {"function": "first", "n_samples": "sum", "time_ms": "sum"}
    )
    whole = lines["time_ms"].sum()
    lines["time_ratio"] = lines["time_ms"] / whole if whole else 0.0
    return lines.sort_values("time_ms", ascending=False, kind="stable", ignore_index=True)


def sampled_frames(trace: Trace, source_map: SourceMap) -> dict[str, int]:
    """For each type of eager op a frame, `UNKNOWN_LINE` or `SEVERAL_LINES`, by samples, else by the call of `fit` and its kin."""
    if source_map.samples.empty and source_map.calls.empty:
        return {}
    time_ps, inside = _times(trace, source_map)
    ids = [i for i, text in enumerate(trace.strings) if text.startswith(_EAGER)]
    events = np.flatnonzero(np.isin(trace.name_id, ids))
    if not len(events):
        return {}
    frame = _one_per_line(source_map)[source_map.samples["frame"].to_numpy()[inside]]
    first = np.searchsorted(time_ps, trace.start_ps[events])
    n = np.searchsorted(time_ps, trace.start_ps[events] + trace.duration_ps[events]) - first
    sample = ranges(first, n)
    found = pd.DataFrame({"name": np.repeat(trace.name_id[events], n), "frame": frame[sample]})
    counts = found[found["frame"] >= 0].value_counts(["name", "frame"]).reset_index(name="n")
    lines: dict[str, int] = {}
    for name in counts["name"].unique().tolist():  # bounded by the number of op types
        of_type = counts[counts["name"] == name]  # the most frequent line first
        best, n_best, whole = int(of_type["frame"].iloc[0]), int(of_type["n"].iloc[0]), int(of_type["n"].sum())
        if whole >= MIN_SAMPLES:
            kind = trace.strings[name].removeprefix(_EAGER).strip()
            lines[kind] = best if n_best >= MIN_SHARE * whole else SEVERAL_LINES
    return {**_called_lines(trace, source_map, events), **lines}


def _called_lines(trace: Trace, source_map: SourceMap, events: Int64) -> dict[str, int]:
    """The line of each type of eager op of which every execution was in calls from one line."""
    calls = source_map.calls.sort_values("begin_ns", kind="stable")
    if calls.empty:
        return {}
    begin_ps, end_ps = (_after_origin(trace, calls[key].to_numpy()) for key in ("begin_ns", "end_ns"))
    frame = _one_per_line(source_map)[calls["frame"].to_numpy()]
    outer = np.flatnonzero(np.maximum.accumulate(end_ps) == end_ps)  # without those within others
    begin_ps, end_ps, frame = begin_ps[outer], end_ps[outer], frame[outer]
    at = np.searchsorted(begin_ps, trace.start_ps[events], side="right") - 1
    ends = trace.start_ps[events] + trace.duration_ps[events]
    within = (at >= 0) & (begin_ps[at] >= 0) & (ends <= end_ps[at])
    found = pd.DataFrame({"name": trace.name_id[events], "frame": np.where(within, frame[at], UNKNOWN_LINE)})
    first = found.groupby("name", as_index=False)["frame"].agg(["min", "max"])
    same = first[(first["min"] == first["max"]) & (first["min"] >= 0)]
    pairs = zip(same["name"].tolist(), same["min"].tolist(), strict=True)
    return {trace.strings[name].removeprefix(_EAGER).strip(): one for name, one in pairs}


def _times(trace: Trace, source_map: SourceMap) -> tuple[Int64, Bool]:
    """When samples were taken, after the trace origin, and which of them lie in a session of the trace."""
    time_ns = source_map.samples["time_ns"].to_numpy()
    time_ps = _after_origin(trace, time_ns)
    inside = np.zeros(len(time_ps), np.bool_)
    for session in trace.sessions:  # bounded by the number of windows
        inside |= (time_ps >= session.start_ps) & (time_ps < session.stop_ps)
    inside &= bool(trace.origin_ns)
    return time_ps[inside], inside


def sample_times(trace: Trace, source_map: SourceMap, column: str = "frame") -> tuple[Int64, Int64]:
    """When the user's thread, or any `other`, was sampled within sessions, in ps after the origin, and its frame; known ones."""
    time_ps, inside = _times(trace, source_map)
    frame = source_map.samples[column].to_numpy(np.int64)[inside]
    return time_ps[frame >= 0], frame[frame >= 0]


def _after_origin(trace: Trace, time_ns: Int64) -> Int64:
    """Unix times as times of the trace, in ps; negative for those of another clock."""
    origin_ns = np.int64(min(trace.origin_ns, 2**63 - 1))  # a damaged file may say anything
    far = np.abs(time_ns - origin_ns) > 2**53  # 104 days; no overflow below
    return np.where(far, -1, time_ns - origin_ns) * 1000


def _one_per_line(source_map: SourceMap) -> Int64:
    """For each frame the first one of its line: a lambda and the call that it is written in are one."""
    place = source_map.frames[["file", "line"]]
    first = place.reset_index().groupby(["file", "line"])["index"].transform("min")
    return np.append(first.to_numpy(np.int64), UNKNOWN_LINE)


FORWARD, BACKWARD, OTHER = range(3)

EAGER_UNKNOWN = "eager op, line unknown"
EAGER_SEVERAL = "eager op, several lines"
NOT_TRACED = "not in a traced graph"
"""Buckets of ops of which no frame is known."""
_NOT_OF_LIBRARY = (NOT_TRACED, GRADIENT_SUMS, *BUCKET_OF_TYPE.values())
"""Buckets by name of ops that a program's frames may tell more of."""

_DATASET_TYPE = re.compile(r"(\w*DatasetV?\d*|\w*Iterator(V\d+)?|Iterator\w+)$")
_OPTIONAL_TYPE = re.compile(r"Optional(FromValue|None|GetValue|HasValue)$")
"""What an iterator hands out, and what the gradient of a condition keeps its values in."""
_DATA_GRAPH = re.compile(r"Dataset_(?!scan_scan_body)")
_EAGER_GRADIENT = re.compile(r"Grad(V\d)?$|Backprop")
_EAGER_OTHER = re.compile(r"_EagerConst$|VarHandleOp|VarIsInitialized|Assign\w*Variable|Resource(Sparse)?Apply")
"""Eager ops that make constants and variables or update these."""


@dataclass(frozen=True)
class Place:
    """A line of code, or with `bucket` the name of what has no line."""

    file: str
    line: int
    function: str
    bucket: str


@dataclass(frozen=True, eq=False, repr=False)
class Charges:
    places: tuple[Place, ...]
    place: Int32
    phase: UInt8
    """For each op `FORWARD`, `BACKWARD` or `OTHER`."""


class _Charging:
    """The tables that the rules read."""

    def __init__(self, trace: Trace, shares: OpShares, source_map: SourceMap, scopes: OpScopes, match: OpMatch) -> None:
        self.shares, self.scopes, self.match = shares, scopes, match
        self.is_sum = self.scopes.is_sum
        self.frames = FrameTable.of_map(source_map)
        self.of_frame = frame_places(self.frames)
        self.user_files = UserFiles.of_map(source_map)
        self.program_frames, self.program_row = FrameTable.of_programs(shares.frames, self.user_files)
        self.of_program_frame = frame_places(self.program_frames)
        self.of_lone_frame: dict[str, FramePlaces] = {}
        self.sampled = sampled_frames(trace, source_map)
        matched = np.unique(self.match.row[self.match.row >= 0])
        graph_ops = source_map.ops.iloc[matched]
        of_graph = op_scopes(graph_ops["op"].tolist(), graph_ops["type"].tolist()).scope
        self.op_scope = dict(zip(matched.tolist(), of_graph, strict=True))
        self.op_frame: list[int] = source_map.ops["frame"].tolist()
        self.op_graph: list[int] = source_map.ops["graph"].tolist()
        graphs = source_map.functions["graph"]
        self.is_data_graph = [_DATA_GRAPH.match(name) is not None for name in graphs] + [False]  # -1 is no graph
        self.known = KnownLayers.read(source_map.layers)
        self.layer_place = _layer_places(source_map)

    def charges(self) -> Charges:
        """Apply the rules to every op."""
        number: dict[Place, int] = {}
        code, n = self._alike()
        first = np.sort(first_of(code, n))
        charged = [self._charge(row) for row in first.tolist()]  # one turn for all ops of which the same is known
        place, phase = np.zeros(n, np.int32), np.zeros(n, np.uint8)
        place[code[first]] = [number.setdefault(one, len(number)) for one, _ in charged]
        phase[code[first]] = [one for _, one in charged]
        return Charges(tuple(number), place[code], phase[code])

    def _alike(self) -> tuple[Int64, int]:
        """A number for each op, equal where all that the rules ask for is, and how many; of a scope known by name, the root."""
        shares, scopes, match = self.shares, self.scopes, self.match
        is_alone = (match.row < 0) & (shares.frame < 0) & (shares.source_line < 0)
        root = numbered(scope[:1] for scope in scopes.scopes)
        is_outer = shares.is_eager.copy()
        for row in np.flatnonzero(is_outer).tolist():
            is_outer[row] = "/" not in shares.name[row].removeprefix(EAGER_SCOPE)
        flags = is_outer, scopes.is_input, scopes.is_optimizer, self.is_sum, match.is_backward
        return dense_codes(
            numbered(shares.type),
            np.where(is_alone, root[scopes.scope_id], len(root) + scopes.scope_id),
            numbered(shares.source_file),
            *(shares.source_line, shares.frame, match.row),
            *(flag.astype(np.uint8) for flag in flags),
        )

    def _charge(self, i: int) -> tuple[Place, int]:
        name, kind = self.shares.name[i], self.shares.type[i]
        if self.scopes.is_input[i] or _DATASET_TYPE.match(kind):
            return _bucket(TF_DATA), OTHER
        row = int(self.match.row[i])
        is_backward = bool(self.match.is_backward[i])
        if bool(self.shares.is_eager[i]) and "/" not in name.removeprefix(EAGER_SCOPE):
            return self._eager(kind)
        if row >= 0 and self.op_frame[row] >= 0:
            frame = self.op_frame[row]
            place = self._place(self.frames, self.of_frame, frame, self.op_scope[row])
            if place.bucket == KERAS:
                place = self._of_keras(kind, place, is_loss=is_backward and not self.op_scope[row])
            if self.is_data_graph[self.op_graph[row]] or _OPTIONAL_TYPE.match(kind):
                return (_bucket(TF_DATA) if place.bucket else place), OTHER
            return place, self._phase(self.of_frame, frame, is_backward=is_backward)
        named = self._by_name(i, is_backward=is_backward)
        program = self._of_program(i) if named[0].bucket in _NOT_OF_LIBRARY else None
        if program is None:
            return named
        frame, table, places = program
        place = self._place(table, places, frame, self.scopes.scope[i])
        if place.bucket == KERAS:
            place = self._of_keras(kind, place, is_loss=is_backward and not self.scopes.scope[i])
        if place.bucket == KERAS and named[0].bucket != NOT_TRACED:
            return named
        # Compiled programs often name the line of TensorFlow that imported the graph, which says nothing.
        return named if place.bucket == TENSORFLOW else (place, self._phase(places, frame, is_backward=is_backward))

    def _place(self, table: FrameTable, places: FramePlaces, frame: int, scope: tuple[str, ...]) -> Place:
        """The place of an op made at `frame` in a name scope."""
        bucket = places.bucket[frame]
        if places.is_of_layer[frame] or bucket == KERAS:
            called, _ = self.known.find(scope)
            if called in self.layer_place or called.rpartition("/")[2] in self.layer_place:
                return self.layer_place.get(called) or self.layer_place[called.rpartition("/")[2]]
        user = int(places.user_frame[frame])
        if user < 0 or bucket == KERAS_LOSS or (bucket and not places.is_of_layer[frame]):
            return _bucket(bucket)
        return Place(table.path[user], table.line[user], table.function[user] or "<lambda>", "")

    def _of_keras(self, kind: str, place: Place, *, is_loss: bool) -> Place:
        """The place of an op that the training loop made, which has no forward op outside of scopes but those of the loss."""
        bucket = BUCKET_OF_TYPE.get(kind)
        return _bucket(bucket or KERAS_LOSS) if bucket or is_loss else place

    def _phase(self, places: FramePlaces, frame: int, *, is_backward: bool) -> int:
        if is_backward:
            return BACKWARD
        if places.is_optimizer[frame] or places.is_metric[frame]:
            return OTHER
        return FORWARD if places.bucket[frame] in ("", KERAS_LOSS) or places.is_of_layer[frame] else OTHER

    def _eager(self, kind: str) -> tuple[Place, int]:
        frame = self.sampled.get(kind, UNKNOWN_LINE)
        if frame < 0:
            return _bucket(EAGER_SEVERAL if frame == SEVERAL_LINES else EAGER_UNKNOWN), OTHER
        place = self._place(self.frames, self.of_frame, frame, ())
        if _EAGER_OTHER.match(kind):
            return place, OTHER
        return place, BACKWARD if _EAGER_GRADIENT.search(kind) else FORWARD

    def _of_program(self, i: int) -> tuple[int, FrameTable, FramePlaces] | None:
        """What the compiled program says of an op: a frame with its callers, or one frame alone."""
        frame = int(self.shares.frame[i])
        if 0 <= frame < len(self.program_row) and self.program_row[frame] >= 0:
            return int(self.program_row[frame]), self.program_frames, self.of_program_frame
        path, line = self.shares.source_file[i], int(self.shares.source_line[i])
        if not path or line < 0:
            return None
        lone = FrameTable((-1,), (path,), (line,), ("",), (self.user_files.has(path),))
        if path not in self.of_lone_frame:  # its line does not matter
            self.of_lone_frame[path] = frame_places(lone)
        return 0, lone, self.of_lone_frame[path]

    def _by_name(self, i: int, *, is_backward: bool) -> tuple[Place, int]:
        if self.scopes.is_optimizer[i]:
            return _bucket(KERAS_OPTIMIZER), OTHER
        if _OPTIONAL_TYPE.match(self.shares.type[i]):
            return _bucket(TF_DATA), OTHER
        scope = self.scopes.scope[i]
        if scope and scope[0] == "compile_loss":
            return _bucket(KERAS_LOSS), BACKWARD if is_backward else FORWARD
        is_sum = bool(self.is_sum[i])
        bucket = BUCKET_OF_TYPE.get(self.shares.type[i], GRADIENT_SUMS if is_sum else NOT_TRACED)
        return _bucket(bucket), BACKWARD if is_backward or is_sum else OTHER


def _bucket(name: str) -> Place:
    return Place("", 0, "", name)


def _layer_places(source_map: SourceMap) -> dict[str, Place]:
    """The line that made each layer, by its path and by its own name; a layer that another one made is at that one's line."""
    files = source_map.files["file"].tolist()
    layers = source_map.layers
    columns = [layers[key].tolist() for key in ("layer", "name", "file", "line")]
    places = {
        path: Place(files[file], line, "", "")
        for path, _, file, line in zip(*columns, strict=True)
        if path and file >= 0
    }
    for path, name, *_ in zip(*columns, strict=True):
        around = path
        while around and around not in places:
            around = around.rpartition("/")[0]
        if around:
            places.setdefault(path, places[around])
            places.setdefault(name, places[around])
    return places


LINE_PHASES = ("forward", "backward", "other")
_CELL = re.compile(r"Cell \[\d+\]")


@dataclass(frozen=True, eq=False, repr=False)
class SourceLines:
    """Which line made each op, and what each line costs."""

    frame: pd.DataFrame
    """One row per side and entry, `SOURCE_LINES`, devices first, by self time falling; three times add up to `self_time_us`;
    `file` is a path, or a cell as the notebook shows it if unambiguous."""
    entries: pd.DataFrame
    """`file, line, function, code, bucket`: a line of code (`bucket` "") or a bucket (`line` 0, `file` ""), most costly first."""
    op_entry: Int32
    """For each framework op its row in `entries`."""
    op_phase: UInt8
    """For each framework op an index into `LINE_PHASES`."""
    files: pd.DataFrame
    """`file, title, text` of the user's files and cells whose text is known."""
    sampled: pd.DataFrame
    """`file, line, function, code, n_samples, time_ms, time_ratio`: how long the user's thread was at each line by samples,
    waiting included, longest first; of Python, so not added to other times."""

    def __repr__(self) -> str:
        n = int((self.entries["bucket"] == "").sum())
        return f"SourceLines({n} line{'s' * (n != 1)}, {len(self.entries) - n} buckets)"


def compute_source_lines(
    trace: Trace,
    shares: OpShares,
    source_map: SourceMap | None = None,
    *,
    sums: OpSums,
    scopes: OpScopes | None = None,
    match: OpMatch | None = None,
) -> SourceLines:
    """Charge every framework op to a line of the user's code or a named bucket, by the first rule of semantics 14."""
    source_map = source_map or empty_source_map()
    scopes = scopes or op_scopes(shares.name, shares.type)
    match = match or match_ops(shares.name, shares.type, scopes, source_map)
    charging = _Charging(trace, shares, source_map, scopes, match)
    order, charges = _costly_first(charging.charges(), sums.self_us)
    entries = _entries(order, source_map)
    frame = _frame(entries, charges, shares, sums, _cell_titles(source_map))
    sampled = sampled_lines(trace, source_map)
    sampled.insert(3, "code", text_column(_codes(sampled["file"].tolist(), sampled["line"].tolist(), source_map)))
    return SourceLines(frame, entries, charges.place, charges.phase, _files(source_map), sampled)


def _costly_first(charges: Charges, own_us: Float64) -> tuple[list[Place], Charges]:
    """Entries in order of their time: one per line, named as the function that costs most there."""
    time_us = np.bincount(charges.place, own_us, minlength=len(charges.places))
    merged: dict[tuple[str, int, str], list[int]] = {}
    for i in np.argsort(-time_us, kind="stable").tolist():
        place = charges.places[i]
        merged.setdefault((place.file, place.line, place.bucket), []).append(i)
    groups = sorted(merged.values(), key=lambda group: -sum(time_us[group]))
    number = np.zeros(len(charges.places), np.int32)
    chosen = []
    for n, group in enumerate(groups):
        number[group] = n
        named = next((i for i in group if charges.places[i].function), group[0])
        chosen.append(charges.places[named])
    return chosen, Charges(tuple(chosen), number[charges.place], charges.phase)


def _entries(places: list[Place], source_map: SourceMap) -> pd.DataFrame:
    files, lines = [place.file for place in places], [place.line for place in places]
    columns = {
        "file": files,
        "line": lines,
        "function": [place.function for place in places],
        "code": _codes(files, lines, source_map),
        "bucket": [place.bucket for place in places],
    }
    return table_of_arrays(
        {key: np.array(one, np.int64 if key == "line" else np.object_) for key, one in columns.items()}
    )


def _codes(files: list[str], lines: list[int], source_map: SourceMap) -> list[str]:
    known = source_map.files
    texts = {file: text.split("\n") for file, text in zip(known["file"], known["text"], strict=True)}
    found = []
    for file, line in zip(files, lines, strict=True):
        text = texts.get(file, [])
        found.append(text[line - 1].strip() if 0 < line <= len(text) else "")
    return found


def _frame(
    entries: pd.DataFrame, charges: Charges, shares: OpShares, sums: OpSums, titles: dict[str, str]
) -> pd.DataFrame:
    columns, row = side_table(entries, charges.place, charges.phase, LINE_PHASES, sums)
    columns["n_ops"] = np.bincount(row[sums.count > 0], minlength=2 * len(entries))
    top = np.full(2 * len(entries), -1, np.int64)
    order = np.argsort(sums.self_us, kind="stable")
    top[row[order]] = order  # of several the last one stays
    columns["top_op"] = np.array([shares.name[i] if i >= 0 else "" for i in top.tolist()], np.object_)
    columns["file"] = np.array([titles.get(file, file) for file in columns["file"].tolist()], np.object_)
    rows = np.flatnonzero(columns["n_ops"])
    rows = rows[np.lexsort((-columns["self_time_us"][rows], rows >= len(entries)))]
    return table_of_arrays({name: columns[name][rows] for name in SOURCE_LINES.names})


def _cell_titles(source_map: SourceMap) -> dict[str, str]:
    """From the path of a notebook's cell, which only its kernel knows, to what the notebook shows beside it."""
    titles = source_map.files["title"].tolist()
    count = Counter(titles)
    files = zip(source_map.files["file"].tolist(), titles, strict=True)
    return {file: title for file, title in files if count[title] == 1 and _CELL.fullmatch(title)}


def _files(source_map: SourceMap) -> pd.DataFrame:
    names = ("file", "title", "text", "is_user")
    rows = zip(*(source_map.files[name].tolist() for name in names), strict=True)
    first: dict[str, tuple[str, str, str]] = {}
    for file, title, text, is_user in rows:
        if is_user and text:
            first.setdefault(file, (file, title, text))
    return table_of_arrays(
        {name: np.array([row[i] for row in first.values()], np.object_) for i, name in enumerate(names[:3])}
    )


def compute_program_memory(
    trace: Trace, units: HloUnits, shares: OpShares, *, layers: Layers, lines: SourceLines
) -> pd.DataFrame:
    """The table `program_memory` of the programs that ran; empty where none did, or none carries its buffers."""
    modules = units.modules
    found = pd.DataFrame(live_buffers(trace, set(modules.program_id.tolist())))
    if found.empty:
        return typed_table([], PROGRAM_MEMORY.types)
    module_of = dict(zip(modules.program_id.tolist(), modules.module_name, strict=True))
    program = found["program_id"].to_numpy(np.int64)
    module = Texts.of([module_of[one] for one in program.tolist()])
    rows = modules.find_all(program, module, Texts.of(found["instruction"].tolist()))
    ops = [framework_op(modules.op_name[row], modules.op_type[row]) if row >= 0 else ("", "") for row in rows.tolist()]
    of_devices_last = np.argsort(shares.is_device, kind="stable").tolist()
    number = {shares.name[op]: op for op in of_devices_last}
    op = np.array([number.get(name, -1) if name else -1 for name, _ in ops], np.int64)
    whole = found["n_bytes"].astype(np.float64).groupby(found["program_id"]).transform("sum")
    table = pd.DataFrame(
        {
            "program_id": found["program_id"],
            "module": text_column(module),
            "kind": text_column(found["kind"]),
            "bytes": found["n_bytes"],
            "peak_ratio": found["n_bytes"] / whole.where(whole > 0, 1),
            "name": text_column(found["instruction"]),
            "expression": text_column(expressions(modules, rows)),
            "op_name": text_column(name for name, _ in ops),
            "op_type": text_column(kind for _, kind in ops),
            "layer": text_column(_looked_up(layers.entries["layer"], layers.op_entry, op, "")),
            "file": text_column(_looked_up(lines.entries["file"], lines.op_entry, op, "")),
            "line": _looked_up(lines.entries["line"], lines.op_entry, op, 0).astype(np.int64),
        }
    )
    return table.sort_values(["program_id", "bytes"], ascending=[True, False], kind="stable", ignore_index=True)


def _looked_up(values: pd.Series, entry: Int32, op: Int64, unknown: object) -> npt.NDArray[np.object_]:
    """A column of entries for each op, `unknown` for those that are none."""
    known = np.append(values.to_numpy(object), [unknown])
    return known[np.where(op >= 0, np.append(entry, -1)[op], -1)]
