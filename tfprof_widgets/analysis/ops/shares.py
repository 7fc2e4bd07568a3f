"""What ran -> the framework ops behind it, nameless HLO ops for the nearest reader with a name. Differs from XProf: a fusion is
shared over its named ops by `HloCosts.work`. Source: semantics 4.2, 4.3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...read.hlo import HloModules
from ...read.hlo_messages import Frames
from ...trace.arrays import Bool, Float64, Int32, Int64
from ..common import dense_codes, first_of
from ..names import OpCategory, framework_op, only_waits, parse_op_name, parse_op_names
from ..xla.costs import NamedWork, WorkByName
from ..xla.programs import HloCosts, Neighbours, estimate_costs
from ..xla.units import HloUnits
from .executions import Occurrences

Values = TypeVar("Values", Bool, Int64, Float64)


@dataclass(frozen=True, eq=False, repr=False)
class OpShares:
    """The table of framework ops and who stands for them: ordinary units are their own op, others follow."""

    name: tuple[str, ...]
    """As in the traced graph; an HLO op that belongs to no framework op is one of its own, under its HLO name."""
    type: tuple[str, ...]
    """Op type; of an HLO op that belongs to no framework op its category."""
    is_device: Bool
    is_eager: Bool
    source_file: tuple[str, ...]
    source_line: Int32
    """Where the compiled program says that the op was made; "" and -1 unknown, as for all ordinary ops."""
    frame: Int32
    """The innermost frame of its traceback, a row of `frames`; -1 unknown."""
    frames: Frames

    unit: Int32
    op: Int32
    ratio: Float64
    """One row per pair, sorted by unit: `ratio` of unit `unit` is framework op `op`. The ratios of a unit add up to 1."""
    dominant: Int32
    """For each unit the framework op with its largest share."""
    is_identity: bool
    """Whether every unit is an ordinary op: no compiled program ran."""

    flops: Float64
    bytes_accessed: Float64
    """For each unit, of one execution: as the trace says, else estimated (see `xla/programs.py`); NaN for ordinary ops."""

    def __len__(self) -> int:
        return len(self.name)

    @cached_property
    def only_waits(self) -> Bool:
        """Of each framework op whether its self time is waiting, not work."""
        return np.fromiter(map(only_waits, self.name, self.type), np.bool_, len(self))

    def spread(self, of_unit: Int64 | Float64) -> Int64 | Float64:
        """Amounts of units, spread over the framework ops that they stand for; the first axis is that of the units."""
        if self.is_identity:
            return of_unit
        total = np.zeros((len(self), *of_unit.shape[1:]), np.float64)
        np.add.at(total, self.op, (of_unit[self.unit].T * self.ratio).T)
        return total

    def largest(self, of_unit: Values) -> Values:
        """For each framework op the largest value among the units that stand for it, 0 at least."""
        if self.is_identity:
            return of_unit
        most = np.zeros((len(self), *of_unit.shape[1:]), of_unit.dtype)
        np.maximum.at(most, self.op, of_unit[self.unit])
        return most


def compute_op_shares(occurrences: Occurrences) -> OpShares:
    """Name the framework ops of every unit, as in semantics 4.3."""
    n_ops, n_units = occurrences.n_ops, len(occurrences.name)
    units = occurrences.hlo
    costs = estimate_costs(units.modules)
    told = _shares(units, costs)
    table = _Table(occurrences)
    pairs = (
        np.concatenate([np.arange(n_ops), n_ops + told.unit]),
        np.concatenate([np.arange(n_ops), table.take_up(units, told)]),
        np.concatenate([np.ones(n_ops), told.ratio]),
    )
    flops, n_bytes = _costs(units, costs)
    return OpShares(
        **table.columns(),
        frames=units.modules.frames,
        unit=pairs[0].astype(np.int32),
        op=pairs[1].astype(np.int32),
        ratio=pairs[2],
        dominant=dominant_ops(*pairs, n_units) if len(units) else pairs[1].astype(np.int32),
        is_identity=not len(units),
        flops=np.concatenate([np.full(n_ops, np.nan), flops]),
        bytes_accessed=np.concatenate([np.full(n_ops, np.nan), n_bytes]),
    )


def dominant_ops(unit: Int64, op: Int64, ratio: Float64, n_units: int) -> Int32:
    order = np.lexsort((op, -ratio, unit))
    first = np.flatnonzero(np.diff(unit[order], prepend=-1))
    dominant = np.empty(n_units, np.int32)
    dominant[unit[order[first]]] = op[order[first]]
    return dominant


def _costs(units: HloUnits, costs: HloCosts) -> tuple[Float64, Float64]:
    known = units.instruction >= 0
    found = []
    for told, estimate in ((units.flops, costs.flops), (units.bytes_accessed, costs.bytes_accessed)):
        column = told.copy()
        missing = known & np.isnan(column)
        column[missing] = estimate[units.instruction[missing]]
        found.append(column)
    return found[0], found[1]


@dataclass(frozen=True, eq=False, repr=False)
class _Shares:
    """What HLO ops stand for, ordered by unit; the ratios of a unit add up to 1."""

    unit: Int64
    row: Int64
    """An instruction that names the framework op; -1 for a unit that names none."""
    name: Int64
    """The number of the name, -1 for none."""
    ratio: Float64


def _shares(units: HloUnits, costs: HloCosts) -> _Shares:
    work = WorkByName(units.modules, costs.work)
    known = np.flatnonzero(units.instruction >= 0)
    found = work.of(known, units.instruction[known])
    total = np.bincount(found.owner, found.work, len(units))
    counts = found.work > 0
    row = _one_each(units, work, found, total <= 0)
    left = np.flatnonzero(total <= 0)
    unit = np.concatenate([found.owner[counts], left])
    name = np.append(work.name, -1)
    shares = _Shares(
        unit,
        np.concatenate([found.row[counts], row]),
        np.concatenate([found.name[counts], name[row]]),
        np.concatenate([found.work[counts] / total[found.owner[counts]], np.ones(len(left))]),
    )
    order = np.argsort(unit, kind="stable")
    return _first_met(_Shares(*(getattr(shares, part)[order] for part in ("unit", "row", "name", "ratio"))))


def _one_each(units: HloUnits, work: WorkByName, found: NamedWork, is_asked: Bool) -> Int64:
    """For each unit without work the instruction that names the op it stands for, -1 for none."""
    row = np.full(len(units), -1, np.int64)
    np.maximum.at(row, found.owner, found.row)
    known = np.flatnonzero(is_asked & (units.instruction >= 0))
    own = units.instruction[known]
    row[known] = np.where(work.name[own] >= 0, own, row[known])
    neighbours = Neighbours(units.modules)
    for unit in known[row[known] < 0].tolist():  # copies, which are few
        row[unit] = neighbours.named(int(units.instruction[unit]))
    return row[is_asked]


def _first_met(shares: _Shares) -> _Shares:
    """The same with one instruction for each name, the first that is met."""
    named = np.flatnonzero(shares.name >= 0)
    row = shares.row.copy()
    if len(named):
        code, n = dense_codes(shares.name[named])
        row[named] = row[named][first_of(code, n)][code]
    return replace(shares, row=row)


class _Table:
    """The table of framework ops, growing."""

    def __init__(self, occurrences: Occurrences) -> None:
        n_ops = occurrences.n_ops
        self._name, self._type = list(occurrences.name[:n_ops]), list(occurrences.type[:n_ops])
        self._is_device = occurrences.is_device[:n_ops].tolist()
        self._is_eager = occurrences.is_eager[:n_ops].tolist()
        self._file, self._line, self._frame = [""] * n_ops, [-1] * n_ops, [-1] * n_ops
        self._rows: tuple[dict[str, int], dict[str, int]] = ({}, {})
        """Of the host, and of the device, once shares are taken up."""

    def take_up(self, units: HloUnits, shares: _Shares) -> Int64:
        """The row of each share: of the framework op that its instruction names, on the side of its unit."""
        if not len(units):
            return np.empty(0, np.int64)
        for row, (is_device, name) in enumerate(zip(self._is_device, self._name, strict=True)):
            self._rows[is_device].setdefault(name, row)
        lonely = np.where(shares.name >= 0, -1, np.arange(len(shares.name)))
        code, n = dense_codes(units.is_device[shares.unit].astype(np.int8), shares.name, lonely)
        first = first_of(code, n)
        order = np.argsort(first)
        unit, instruction = shares.unit[first[order]], shares.row[first[order]]
        told = _told(units.modules, instruction[instruction >= 0])
        rows = np.empty(n, np.int64)
        rows[order] = [  # one turn a name
            self._row(is_device, *(next(told) if row >= 0 else _of_unit(units, one)))
            for is_device, one, row in zip(
                units.is_device[unit].tolist(), unit.tolist(), instruction.tolist(), strict=True
            )
        ]
        return rows[code]

    def _row(self, is_device: bool, name: str, kind: str, file: str, line: int, frame: int) -> int:
        row = self._rows[is_device].setdefault(name, len(self._name))
        if row == len(self._name):
            self._name.append(name)
            self._type.append(kind)
            self._is_device.append(is_device)
            self._is_eager.append(False)
            self._file.append(file)
            self._line.append(line)
            self._frame.append(frame)
        elif not self._file[row]:
            self._file[row], self._line[row], self._frame[row] = file, line, frame
        return row

    def columns(self) -> dict[str, Any]:
        """The fields of `OpShares` that describe framework ops."""
        return {
            "name": tuple(self._name),
            "type": tuple(self._type),
            "is_device": np.array(self._is_device, np.bool_),
            "is_eager": np.array(self._is_eager, np.bool_),
            "source_file": tuple(self._file),
            "source_line": np.array(self._line, np.int32),
            "frame": np.array(self._frame, np.int32),
        }


_Told = tuple[str, str, str, int, int]
"""Name, type, source file, source line and frame of a framework op."""


def _told(modules: HloModules, rows: Int64) -> Iterator[_Told]:
    """The framework op that each of some instructions names."""
    texts = (column.at(column.code[rows]) for column in (modules.op_name, modules.op_type, modules.source_file))
    numbers = (column[rows].tolist() for column in (modules.source_line, modules.frame))
    for name, kind, *place in zip(*texts, *numbers, strict=True):
        yield (*framework_op(name, kind), *place)


def _of_unit(units: HloUnits, unit: int) -> _Told:
    """That of an HLO op whose instruction names nothing: what its event says, else the HLO op itself."""
    file, _, line = units.source[unit].rpartition(":")
    source = (file, int(line), -1) if file and line.isdecimal() and len(line) < 9 else ("", -1, -1)
    name, kind = units.name[unit], units.category[unit]
    if units.provenance[unit]:
        name, kind = framework_op(*_split(units.provenance[unit]))
    return name, kind, *source


def _split(provenance: str) -> tuple[str, str]:
    name, _, kind = provenance.rpartition(":")
    return (name, kind) if name else (provenance, "")


FAMILIES = ("tfdata", "image", "conv", "elem", "reduce", "optim", "move", "runtime", "python")
"""tf.data iterators; image decoding; convolution and matmul; element-wise; reductions, pooling, losses; optimizers; copies, casts
and transposes; executor and runtime; Python."""

_CODE = {name: code for code, name in enumerate(FAMILIES)}

# The first that matches decides, so the order matters: an optimizer's `ResourceApplyAdam` is no element-wise op.
_TYPES = {
    "tfdata": (r"Dataset|Iterator|Optional(GetValue|HasValue|FromValue|None)|.*Dataset(V\d)?$|MakeIterator",),
    "image": (
        r"Decode(And|Jpeg|Png|Gif|Bmp|Image|Raw|Webp)|Encode(Jpeg|Png)",
        r"Resize|CropAndResize|.*Image|Adjust|RGB|HSV",
    ),
    "optim": (r"(ResourceSparse|Resource|Sparse)?Apply[A-Z]|Assign(Add|Sub|Variable)|(Resource)?ScatterAdd",),
    "conv": (r".*Conv(?!er)(olution)?\d?D?|.*MatMul|.*Einsum|.*Gemm|CudnnRNN|.*LSTM|.*GRU",),
    "reduce": (
        r"(Arg)?(Sum|Mean|Max|Min|Prod|All|Any)$|ArgM|.*Pool|.*Softmax|.*CrossEntropy|BiasAddGrad",
        r".*BatchNorm|.*LayerNorm|.*Norm(alization)?$|.*NormV\d|Cum(sum|prod)|(Unsorted)?Segment|(In)?TopK|L2Loss|AddN",
    ),
    "move": (
        r"(Conjugate)?Transpose|Concat|Split|(Strided)?Slice|Gather|Scatter|(Mirror)?Pad|Reverse|Tile|Pack|Unpack",
        r"Reshape|ExpandDims|Squeeze|Copy|.*Mem[cC]py|_?(Host)?(Send|Recv)|Identity|Const$|Fill|.*ToMkl|.*MklTo|Cast",
        r"ZerosLike|OnesLike|BroadcastTo|Shape|Size|Rank|ReadVariableOp|Nccl|Collective",
    ),
    "runtime": (
        r"(Stateful)?PartitionedCall|If|While|NoOp|_?(Switch|Merge|Enter|Exit|LoopCond|NextIteration)|RemoteCall",
        r"Assert|VarIs|VarHandleOp|.*Resource|_?(Device)?(Arg|Retval)$",
    ),
}
_KERNELS = {
    "tfdata": (
        r"^(prefetch|parallelmap|parallelinterleave|mapandbatch|parallelbatch|parseexample)(produce|consume)",
        r"^iterator|instantiatedcapturedfunction|^makeiterator|dataset",
    ),
    "move": (
        r"^memcpy|^memset|transpose|copy|concat|nccl|shuffletensor|nchwtonhwc|nhwctonchw",
        r"swapdimension|gather|pad_",
    ),
    "conv": (r"gemm|conv(?!er[st])|cudnn|winograd|cutlass|dgrad|wgrad|fprop|xmma|matmul|\bdot",),
    "optim": (r"apply(adam|gradient|momentum|rms|ada)|adam",),
    "reduce": (r"reduc|softmax|pool|batchnorm|bn_|layernorm|argm|sum",),
    "python": (
        r"^(train|test|predict|evaluate|step|tracecontext)\b|^\$|\.py:|^tf\.|_step\b",
        r"one_step_on|multi_step_on|convert_to_tensor",
    ),
    "elem": (r"eigenmetakernel|elementwise|relu|sigmoid|tanh|bias|dropout|random|philox|fusion|add|mul",),
}
_BY_TYPE = tuple((family, re.compile("|".join(patterns))) for family, patterns in _TYPES.items())
_BY_KERNEL = tuple((family, re.compile("|".join(patterns))) for family, patterns in _KERNELS.items())
"""For names in small letters: to let `re` ignore the case takes five times as long."""

_OF_CATEGORY = {
    category: family
    for family, categories in {
        "conv": "convolution; convolution fusion; dot; ragged-dot",
        "move": "copy; data formatting; copy-start; copy-done; dynamic-slice; dynamic-update-slice; concatenate; gather; "
        "scatter; slice; pad; reverse; broadcast; infeed; outfeed",
        "reduce": "reduce; reduce-window; select-and-scatter; sort",
        "runtime": "while; call; conditional",
        "elem": "non-fusion elementwise",
    }.items()
    for category in categories.split("; ")
}
"""HLO categories that say what an op does; a fusion or a custom call may be anything."""
_COLLECTIVE = re.compile(r"all-(reduce|gather|to-all)|collective|reduce-scatter|send|recv|host ")
_FUSED = re.compile(r"^_?(Mkl|MklNative|Native|ITEX|OneDnn)?_?(Mkl|Native)?(Fused)?(?=[A-Z])")
"""What vendors put before the type of an op they took over."""
_PASS = re.compile(
    r"[\w ]*Pass(es)?$|Convert\w+To\w+$|[a-z_]+(-[a-z_0-9]+)+$|\w+_(expander|decomposer|rewriter|simplifier|inserter)$"
)
"""Names of compiler passes, which speak of the ops they change."""
_SUFFIX_TYPE = re.compile(r"[^:]*:(_?[A-Z]\w*)")
_BARE_TYPE = re.compile(r"_?[A-Z]\w+")
_RUNTIME = re.compile(
    r"^(Executor|Threadpool|TFE_|Eager|KernelAndDevice|Memory|FunctionRun|SessionRun|ProcessFunction|GraphRun|Schedule"
    r"|BaseCollective|cu[A-Z]|PjRt|Thunk|Validate|TaskDispatcher|CpuExecutable|BlockUntilReady|\w*Compiler::|IteratorGetNext)"
)


_DIGITS = bytes.maketrans(b"123456789", b"000000000")
"""Names of code differ in these alone by the thousand, and no pattern asks which they are."""
_OF_OP = {int(kind): "move" for kind in OpCategory if kind != OpCategory.UNKNOWN} | {int(OpCategory.TFDATA): "tfdata"}
"""By what a name stands for; what TensorFlow and JAX compute depends on the type."""
_COMPUTED = (int(OpCategory.TENSORFLOW), int(OpCategory.JAX))
_MOST_KEPT = 10_000


def families(names: Sequence[str]) -> npt.NDArray[np.uint8]:
    """The family of each unique name of an event, `name:Type` or op type; unknown is runtime."""
    parsed = parse_op_names(names)
    codes = [_family(*one) for one in zip(names, parsed.category.tolist(), parsed.type, strict=True)]
    return np.fromiter((_CODE[family] for family in codes), np.uint8, len(codes))


def op_families(names: Sequence[str], types: Sequence[str]) -> npt.NDArray[np.uint8]:
    """The family of each framework op: that of its type; where the type says nothing, as of a call, that of the name."""
    found = [_family_of_op(*one) for one in zip(names, types, strict=True)]
    return np.fromiter((_CODE[family] for family in found), np.uint8, len(found))


def hlo_families(categories: Sequence[str], op_types: Sequence[str]) -> npt.NDArray[np.uint8]:
    """The family of each HLO op: what its category says, else that of the framework op it is most of."""
    found = [_hlo_family(*one) for one in zip(categories, op_types, strict=True)]
    return np.fromiter((_CODE[family] for family in found), np.uint8, len(found))


def _family_of_op(name: str, op_type: str) -> str:
    if known := _OF_CATEGORY.get(op_type):
        return known
    of_type = _family_of_type(op_type) if op_type else "runtime"
    return of_type if of_type != "runtime" else _family(name, *parse_op_name(name)[:2])


def _hlo_family(category: str, op_type: str) -> str:
    if category == "non-fusion elementwise" and _family_of_type(op_type) == "optim":
        return "optim"
    if known := _OF_CATEGORY.get(category):
        return known
    if _COLLECTIVE.match(category):
        return "move"
    return "elem" if op_type == category else _family_of_type(op_type)


def _family(name: str, category: int, op_type: str) -> str:
    if known := _OF_CATEGORY.get(name):
        return known
    if category in _COMPUTED:
        return _family_of_type(op_type)
    # Bytes, as those are translated many times faster than text.
    return _OF_OP.get(category) or _family_of_code(name.encode("utf-8", "replace").translate(_DIGITS).decode())


@lru_cache(_MOST_KEPT)
def _family_of_code(name: str) -> str:
    """Of a kernel or a function of the runtime, by its name with any numbers in it."""
    if _RUNTIME.match(name) or _PASS.match(name):
        return "runtime"
    if suffix := _SUFFIX_TYPE.fullmatch(name):
        return _family_of_type(suffix[1])
    if _BARE_TYPE.fullmatch(name) and (known := _known_family(name)):
        return known
    small = name.lower()
    for family, pattern in _BY_KERNEL:
        if pattern.search(small):
            return family
    return _family_of_type(name) if re.fullmatch(r"[A-Z]\w+", name) else "runtime"


def _family_of_type(op_type: str) -> str:
    """Of an op of no other kind TensorFlow has hundreds that work element by element."""
    return _known_family(op_type) or "elem"


@lru_cache(_MOST_KEPT)
def _known_family(op_type: str) -> str:
    """By the patterns of types; empty where none matches."""
    bare = _FUSED.sub("", op_type)
    return next((family for family, pattern in _BY_TYPE if pattern.match(bare) or pattern.match(op_type)), "")
