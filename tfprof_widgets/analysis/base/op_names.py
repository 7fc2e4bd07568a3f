"""Event names and `tf_op` stats -> category, op type and op name of each.

Source: semantics 1.7 (xla/tsl/profiler/utils/tf_op_utils.cc).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from sys import intern

import numpy as np
import numpy.typing as npt


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
        """Whether each string names an op, that is any category but unknown."""
        return np.not_equal(self.category, OpCategory.UNKNOWN)

    def of(self, rows: npt.NDArray[np.integer]) -> OpNames:
        """Those of some of the strings."""
        at = rows.tolist()
        return OpNames(
            self.category[rows], tuple(map(self.type.__getitem__, at)), tuple(map(self.name.__getitem__, at))
        )


_MOST_KNOWN = 2**15
"""So many names stay parsed: several analyses ask for those of one trace, and hosts of one run have the same."""
_JAX_TYPE = re.compile(r"[a-z_][a-z0-9_]*(\[.*\])?")
_REMOTE_CALL = "EagerService"
"""`EagerService:Enqueue` is work that another task handed to this one, around all that it leads to."""
_COMPILERS = r"XlaCompil|XlaAutotun|cu(?:dnn|blas|blaslt)_autotun"
_GPU_COMPILER = "HLO Transforms:|OptimizeHloModule|CompileToBackendResult|CompileAll|CompileSingleModule|PTX->CUBIN"
"""Its stages, which have no common word."""
COMPILATION = re.compile(rf"\w*Compiler::|Compiling |{_COMPILERS}|{_GPU_COMPILER}")
"""In front of the names of events in which a compiler works or tries kernels; `Compiling IR:main_kernel_1` is no op."""
_TF_OP = re.compile(rf"(?!Iterator:|{_REMOTE_CALL}:|{_COMPILERS})([A-Za-z0-9.][A-Za-z0-9_./>-]*):([A-Z_][a-zA-Z0-9_]*)")
_TRAILING_NUMBER = re.compile(r"_[0-9]+\Z")
_MEMCPY = {
    "MEMCPYHTOD": (OpCategory.MEMCPY_HTOD, "MemcpyHToD"),
    "MEMCPYDTOH": (OpCategory.MEMCPY_DTOH, "MemcpyDToH"),
    "MEMCPYDTOD": (OpCategory.MEMCPY_DTOD, "MemcpyDToD"),
    "MEMCPYHTOH": (OpCategory.MEMCPY_HTOH, "MemcpyHToH"),
}


def parse_op_names(strings: Sequence[str]) -> OpNames:
    """Parse each full name once; pass unique strings (a trace has a few thousand, whatever its number of events).

    Differs from XProf: work handed over by another task is no op `EagerService`, and compiling is none (D15).

    CUPTI's own names `MemcpyH2D`, `MemcpyD2H` and `MemcpyD2D` are unknown here, as in XProf; `steps.py` gives them their
    meaning (D1).

    Args:
        strings: full names such as `model/dense/MatMul:MatMul` or `Iterator::Root::Map`; any text is allowed.
    """
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
    """Category, op type and op name of one full name."""
    if op := _TF_OP.fullmatch(full):  # as nearly all are
        return OpCategory.TENSORFLOW, intern(op[2]), op[1]
    name, colon, op_type = full.partition(":")
    if not colon:
        category, memcpy = _MEMCPY.get(full[:10].upper(), (OpCategory.UNKNOWN, ""))
        return category, memcpy, full
    if op_type.startswith(":") and name != "Iterator":  # of C++, as kernels are
        return OpCategory.UNKNOWN, "", full
    if name == _REMOTE_CALL or COMPILATION.match(full):
        return OpCategory.UNKNOWN, "", full
    if name == "Iterator":
        return OpCategory.TFDATA, "Dataset", full
    derived = op_type or _TRAILING_NUMBER.sub("", name.rpartition("/")[2])
    if _JAX_TYPE.fullmatch(derived):
        return OpCategory.JAX, derived.partition("[")[0], name
    if not op_type:
        return OpCategory.TENSORFLOW, derived, name
    return OpCategory.UNKNOWN, "", full
