"""Framework ops -> the line or bucket that each is charged to, and as what."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ...trace.source_map import SourceMap
from ...trace.trace import Int32, Int64, Trace, UInt8
from ..base.frame_places import (
    BUCKET_OF_TYPE,
    GRADIENT_SUMS,
    KERAS,
    KERAS_LOSS,
    KERAS_OPTIMIZER,
    TENSORFLOW,
    TF_DATA,
    FramePlaces,
    FrameTable,
    frame_places,
)
from ..base.matching import dense_codes, first_of, numbered
from ..base.user_files import UserFiles
from ..layers.layer_names import KnownLayers
from ..layers.op_scopes import OpScopes, op_scopes
from ..layers.op_sources import OpMatch, match_ops
from ..ops.eager_calls import EAGER_SCOPE
from ..ops.op_shares import OpShares
from .sampled_lines import SEVERAL_LINES, UNKNOWN_LINE, sampled_frames

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
    """What each framework op is charged to."""

    places: tuple[Place, ...]
    place: Int32
    """For each op its place."""
    phase: UInt8
    """For each op `FORWARD`, `BACKWARD` or `OTHER`."""


def charge_ops(
    trace: Trace,
    shares: OpShares,
    source_map: SourceMap,
    *,
    scopes: OpScopes | None = None,
    match: OpMatch | None = None,
) -> Charges:
    """Charge each framework op; the rules are those of `compute_source_lines`."""
    scopes = scopes or op_scopes(shares.name, shares.type)
    match = match or match_ops(shares.name, shares.type, scopes, source_map)
    return _Charging(trace, shares, source_map, scopes, match).charges()


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
        """A number for each op, equal where all is that the rules ask for, and how many there are.

        Of the scope of an op that nothing but its name tells of they ask for the root alone.
        """
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
        """What the name alone tells."""
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
