"""Names of events, ops, iterators and frameworks -> their meaning, found once a name, not once an event."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache, wraps
from sys import intern
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..trace.arrays import Bool, Int64
from ..trace.trace import Trace
from .common import dense_codes, first_of


class OpCategory(IntEnum):
    """What kind of thing a full op name stands for."""

    UNKNOWN = 0
    TENSORFLOW = 1
    TFDATA = 2
    JAX = 3
    MEMCPY_HTOD = 4
    MEMCPY_DTOH = 5
    MEMCPY_DTOD = 6
    MEMCPY_HTOH = 7


@dataclass(frozen=True)
class OpNames:
    """Parsed full names; every field has one entry per input string, in the order of the input."""

    category: npt.NDArray[np.uint8]
    """Values of `OpCategory`."""
    type: tuple[str, ...]
    """Op type such as `MatMul`; `Dataset` for tf.data iterators; empty where the category is unknown."""
    name: tuple[str, ...]
    """Op name such as `model/dense/MatMul`; the whole string for iterators and where the category is unknown."""

    @property
    def is_op(self) -> npt.NDArray[np.bool_]:
        return np.not_equal(self.category, OpCategory.UNKNOWN)

    def of(self, rows: npt.NDArray[np.integer]) -> OpNames:
        at = rows.tolist()
        return OpNames(
            self.category[rows], tuple(map(self.type.__getitem__, at)), tuple(map(self.name.__getitem__, at))
        )


_MOST_KNOWN = 2**15
"""So many names stay parsed: several analyses ask for those of one trace, and hosts of one run have the same."""
_JAX_TYPE = re.compile(r"[a-z_][a-z0-9_]*(\[.*\])?")
_APART = ("EagerService", "nccl", "gloo", "mpi", "ucc")
"""Before a colon in events that are no ops: work that another task handed to this one, around all that it leads to, and
exchanges of tensors by PyTorch."""
_COMPILERS = r"XlaCompil|XlaAutotun|cu(?:dnn|blas|blaslt)_autotun"
_GPU_COMPILER = "HLO Transforms:|OptimizeHloModule|CompileToBackendResult|CompileAll|CompileSingleModule|PTX->CUBIN"
"""Its stages, which have no common word."""
COMPILATION = re.compile(rf"\w*Compiler::|Compiling |{_COMPILERS}|{_GPU_COMPILER}")
"""In front of the names of events in which a compiler works or tries kernels; `Compiling IR:main_kernel_1` is no op."""
_TF_OP = re.compile(
    rf"(?!(?:Iterator|{'|'.join(_APART)}):|{_COMPILERS})([A-Za-z0-9.][A-Za-z0-9_./>-]*):([A-Z_][a-zA-Z0-9_]*)"
)
_TRAILING_NUMBER = re.compile(r"_[0-9]+\Z")
_MEMCPY = {
    "MEMCPYHTOD": (OpCategory.MEMCPY_HTOD, "MemcpyHToD"),
    "MEMCPYDTOH": (OpCategory.MEMCPY_DTOH, "MemcpyDToH"),
    "MEMCPYDTOD": (OpCategory.MEMCPY_DTOD, "MemcpyDToD"),
    "MEMCPYHTOH": (OpCategory.MEMCPY_HTOH, "MemcpyHToH"),
}


def parse_op_names(strings: Sequence[str]) -> OpNames:
    """Parse each unique name once. Differs from XProf: compiling is no op (D15), `MemcpyH2D` is of `steps/` (D1)."""
    # More names than are kept would push each other out before any of them is asked for again.
    parse = parse_op_name if len(strings) <= _MOST_KNOWN else parse_op_name.__wrapped__
    # Column by column: a tuple a name, all there at once, would have Python search them for cycles again and again.
    category, types, names = bytearray(len(strings)), [""] * len(strings), list(strings)  # 0 is unknown
    for i, full in enumerate(strings):
        if ":" in full or full[:1] in "mM":
            category[i], types[i], names[i] = parse(full)
    return OpNames(np.frombuffer(category, np.uint8), tuple(types), tuple(names))


@lru_cache(_MOST_KNOWN)
def parse_op_name(full: str) -> tuple[OpCategory, str, str]:
    if op := _TF_OP.fullmatch(full):  # as nearly all are
        return OpCategory.TENSORFLOW, intern(op[2]), op[1]
    name, colon, op_type = full.partition(":")
    if not colon:
        category, memcpy = _MEMCPY.get(full[:10].upper(), (OpCategory.UNKNOWN, ""))
        return category, memcpy, full
    if op_type.startswith(":") and name != "Iterator":  # of C++, as kernels are
        return OpCategory.UNKNOWN, "", full
    if name in _APART or COMPILATION.match(full):
        return OpCategory.UNKNOWN, "", full
    if name == "Iterator":
        return OpCategory.TFDATA, "Dataset", full
    derived = op_type or _TRAILING_NUMBER.sub("", name.rpartition("/")[2])
    if _JAX_TYPE.fullmatch(derived):
        return OpCategory.JAX, derived.partition("[")[0], name
    if not op_type:
        return OpCategory.TENSORFLOW, derived, name
    return OpCategory.UNKNOWN, "", full


_DIGITS = "0123456789"
_NUMBERS = f"_{_DIGITS}"
_Result = TypeVar("_Result")


def once(function: Callable[[Trace], _Result]) -> Callable[[Trace], _Result]:
    """Keep what a function finds of each trace for as long as the trace is there: several analyses ask for it."""
    found: WeakKeyDictionary[Trace, _Result] = WeakKeyDictionary()

    @wraps(function)
    def kept(trace: Trace) -> _Result:
        if trace not in found:
            found[trace] = function(trace)
        return found[trace]

    return kept


def by_name(
    trace: Trace, function: Callable[[str], Any], dtype: type = np.bool_, *, among: Bool | Int64 | None = None
) -> npt.NDArray[Any]:
    """`function` of each name of events, as a table with an entry for every string; those that name no event are 0."""
    used = _used(trace, among)
    table: npt.NDArray[Any] = np.zeros(max(len(trace.strings), 1), dtype)
    table[used] = [function(trace.strings[i]) for i in used.tolist()]
    return table


def by_stem(
    trace: Trace, function: Callable[[str], Any], dtype: type = np.bool_, *, among: Bool | Int64 | None = None
) -> npt.NDArray[Any]:
    """As `by_name` of a function to which no number at the end of a name means anything: names of kernels differ in it."""
    stems, number = _stems(trace)
    used = np.flatnonzero(np.bincount(number[trace.name_id if among is None else trace.name_id[among]]))
    values: npt.NDArray[Any] = np.zeros(len(stems) + 1, dtype)
    values[used] = [function(stems[i]) for i in used.tolist()]
    return values[number]


@once
def _stems(trace: Trace) -> tuple[list[str], Int64]:
    """The distinct stems of the names of events, and for each string which; one more for those that name no event."""
    numbers: dict[str, int] = {}
    of_used = [numbers.setdefault(_stem(trace.strings[i]), len(numbers)) for i in trace.used_names.tolist()]
    number = np.full(len(trace.strings), len(numbers), np.int64)
    number[trace.used_names] = of_used
    return list(numbers), number


def _stem(name: str) -> str:
    """The name up to its last numbers, with the underscore, by which patterns know the end of a word."""
    if name[-1:] not in _DIGITS:
        return name
    end = len(name.rstrip(_NUMBERS))
    doubled = name.rfind("__", end)
    begin = name.find("_", end) if doubled < 0 else doubled + 1
    return name[: begin + 1] if end and begin >= 0 else name


def by_ends(trace: Trace, function: Callable[[str, int, str], Any], dtype: type = np.bool_) -> npt.NDArray[Any]:
    """As `by_name`, of a function of one name, its category and op type that ignores the numbers in `lstm/step_12/mul_3:Mul`."""
    first, number = _ends(trace)
    parsed = parsed_names(trace).of(first)
    names = [trace.strings[i] for i in trace.used_names[first].tolist()]
    values: npt.NDArray[Any] = np.zeros(len(first) + 1, dtype)
    values[:-1] = list(map(function, names, parsed.category.tolist(), parsed.type))
    return values[number]


@once
def _ends(trace: Trace) -> tuple[Int64, Int64]:
    """The first name of events with each pair of ends, a row of `trace.used_names`, and each string's pair; one more for none."""
    stems, of_string = _stems(trace)
    numbers: dict[str, int] = {}
    end = np.array([numbers.setdefault(_end(stem), len(numbers)) for stem in stems], np.int64)
    of_used, n = dense_codes(end[of_string[trace.used_names]], parsed_names(trace).category)
    number = np.full(max(len(trace.strings), 1), n, np.int64)
    number[trace.used_names] = of_used
    return first_of(of_used, n), number


def _end(stem: str) -> str:
    """A name without what is between its first slash and its last colon, or without the number in front of that."""
    slash, colon = stem.find("/") + 1, stem.rfind(":")
    if 0 < slash <= colon:
        return stem[:slash] + stem[colon:]
    return _stem(stem[:colon]) + stem[colon:] if colon > 0 and not slash else stem


@once
def parsed_names(trace: Trace) -> OpNames:
    """What names of events mean, in the order of `trace.used_names`; of names that differ in an end number one is parsed."""
    names = np.array([trace.strings[i] for i in trace.used_names.tolist()], np.object_)
    stems, number = _stems(trace)
    stem = number[trace.used_names]
    parsed, is_cut = parse_op_names(stems), np.array(stems, np.object_)[stem] != names
    category, types = parsed.category[stem], np.array(parsed.type, np.object_)[stem]
    op_names = np.where(category == OpCategory.UNKNOWN, names, np.array(parsed.name, np.object_)[stem])
    numbered = np.flatnonzero(is_cut & (category != OpCategory.UNKNOWN))
    own = parse_op_names(names[numbered].tolist())
    types[numbered], op_names[numbered] = own.type, own.name
    return OpNames(category, tuple(types), tuple(op_names))


def _used(trace: Trace, among: Bool | Int64 | None) -> Int64:
    if among is None:
        return trace.used_names
    return np.flatnonzero(np.bincount(trace.name_id[among], minlength=len(trace.strings)))


def named_like(trace: Trace, rows: Int64, pattern: re.Pattern[str]) -> Bool:
    """For some events whether their name holds the pattern, to which no number at its end means anything."""
    held = by_stem(trace, lambda name: bool(pattern.search(name)), among=rows)
    return held[trace.name_id[rows]]


_WRAPPERS = re.compile(r"\A(?:(?:p?jit|xla_call|pmap)\([^()/]*\)/|(?:__|a_)?inference_[^/]*/|cluster_\d+(?:_\d+)*/)+")
"""What the compiler puts around a whole program: scopes of no layer."""
CALL = re.compile(r"(?:Stateful)?PartitionedCall(?:_\d+)?|replica_\d+")
"""What the call of a function puts before the names of ops in it, and the copy of a model on one device."""
_BODY = r"(?P<flow>[^/]+)/(?:then|else|body|cond|branch\d*)/_\d+/(?:(?P=flow)/)?"
"""The same of the inlined body of a condition or loop: `cond/then/_7/cond/`."""
_CALLS = re.compile(rf"(?:(?:{CALL.pattern})/)*(?:{_BODY})?")


def without_calls(op_name: str) -> str:
    """The name of an op in its function: `dense/MatMul` of `StatefulPartitionedCall/dense/MatMul`."""
    return _CALLS.sub("", op_name, count=1)


@lru_cache(maxsize=65536)
def framework_op(op_name: str, op_type: str) -> tuple[str, str]:
    """Name and type of a framework op; of several joined by `;` the first, without a type as in semantics 1.7."""
    name = op_name.partition(";")[0].strip().rstrip(":")
    name = _WRAPPERS.sub("", name) or name
    _, kind, _ = parse_op_name.__wrapped__(f"{name}:{op_type}")  # kept here, and asked for nowhere else
    return name, kind or op_type or "Unknown"


ASYNC_STAGES = ("Prefetch", "ParallelInterleave", "ParallelMap", "MapAndBatch", "ParseExample", "ParallelBatch")
"""What makes its elements ahead, on threads of its own."""
ASYNC_ITERATORS = frozenset((*ASYNC_STAGES, "DataService", "LegacyParallelInterleave"))
WRAPPERS = frozenset(("Root", "Model"))
"""What tf.data itself puts around a pipeline: it hands on what the iterator below it made."""
_VERSION = re.compile(r"V\d+\Z")
_INPUT = re.compile(r"\[\d+\]\Z")
_SENT = re.compile(r"/_\d+\Z")
"""What TensorFlow appends to the name of an op where it cuts a graph: to both ends, with different numbers."""


def base_name(name: str) -> str:
    """A short name without its version: `ParallelMapV2` is a `ParallelMap`."""
    return _VERSION.sub("", name)


def sent_op(name: str) -> str:
    """The op whose tensor a copy brings: `GatherV2/_3` sends that of `GatherV2`."""
    return _SENT.sub("", name)


def only_waits(name: str, kind: str) -> bool:
    """Whether the self time of an op is waiting, not work, as a call of an asynchronous iterator is."""
    if kind != "Dataset":
        return False
    last = _INPUT.sub("", name.rpartition("::")[2])
    return base_name(last) in ASYNC_ITERATORS
