"""HLO opcodes -> the category under which an HLO op is listed: `loop fusion`, `convolution`, `data formatting`, ...

Source: `ToCategory` of XLA's HLO instructions, which is what XProf shows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ...formats.hlo.modules import HloModules
from ...formats.hlo.parts import Convolution
from ...formats.hlo.texts import Texts
from ...trace.trace import Int64

TRANSCENDENTAL = frozenset(
    [
        "atan2",
        "cbrt",
        "cosine",
        "erf",
        "exponential",
        "exponential-minus-one",
        "log",
        "log-plus-one",
        "logistic",
        "power",
        "rsqrt",
        "sine",
        "sqrt",
        "tan",
        "tanh",
    ]
)
"""Element-wise opcodes that XLA counts as transcendental, not as flops."""
ELEMENTWISE = TRANSCENDENTAL | frozenset(
    [
        "abs",
        "add",
        "and",
        "bitcast-convert",
        "ceil",
        "clamp",
        "clz",
        "compare",
        "complex",
        "constant",
        "convert",
        "count-leading-zeros",
        "divide",
        "floor",
        "imag",
        "is-finite",
        "map",
        "maximum",
        "minimum",
        "multiply",
        "negate",
        "not",
        "or",
        "popcnt",
        "real",
        "reduce-precision",
        "remainder",
        "rng",
        "round-nearest-afz",
        "round-nearest-even",
        "select",
        "shift-left",
        "shift-right-arithmetic",
        "shift-right-logical",
        "sign",
        "stochastic-convert",
        "subtract",
        "xor",
    ]
)
_FORMATTING = frozenset(("copy", "dynamic-reshape", "reshape", "transpose"))
_FUSIONS = {"kLoop": "loop fusion", "kInput": "input fusion", "kOutput": "output fusion", "kCustom": "custom fusion"}
_LEADING = {
    "convolution": frozenset(("convolution",)),
    "dot": frozenset(("dot", "ragged-dot", "scaled-dot")),
    "reduce": frozenset(("reduce", "reduce-window", "select-and-scatter", "sort")),
    "non-fusion elementwise": ELEMENTWISE - {"bitcast-convert", "constant", "convert"} | {"rng-bit-generator"},
}
"""What a fusion does, by the opcodes in it: the first of these, else it moves data."""
_NUMBER = re.compile(r"(\.[\w]*\d)+$")
_OPCODE_IN_NAME = re.compile(r"(^|[_.-])(fusion|convolution|dot|copy|reduce|custom-call|while|all-reduce)([_.-]|$)")


def categories(modules: HloModules, rows: Int64, names: Texts) -> list[str]:
    """The category of HLO ops, given their instructions, -1 where the trace has none, and their names."""
    kind = np.where(
        rows >= 0, np.append(modules.opcode.code * len(modules.detail.distinct) + modules.detail.code, -1)[rows], -1
    )
    kinds, of_row = np.unique(kind, return_inverse=True)
    told = [
        _category(modules, *divmod(one, len(modules.detail.distinct))) if one >= 0 else "" for one in kinds.tolist()
    ]
    guessed = [guessed_category(name) for name in names.distinct]
    code = np.where(rows >= 0, of_row, len(told) + names.code)
    found = list(map((told + guessed).__getitem__, code.tolist()))
    dilated = {one.instruction: _dilated(one) for one in modules.convolutions}  # a program has few
    for at in np.flatnonzero(np.isin(rows, list(dilated))).tolist():
        found[at] = dilated[int(rows[at])] if found[at] == "convolution" else found[at]
    return found


def _category(modules: HloModules, opcode_code: int, detail_code: int) -> str:
    opcode = modules.opcode.distinct[opcode_code]
    if opcode == "fusion":
        return _FUSIONS.get(modules.detail.distinct[detail_code], "unknown fusion")
    if opcode in _FORMATTING:
        return "data formatting"
    return "non-fusion elementwise" if opcode in ELEMENTWISE else opcode


def guessed_category(name: str) -> str:
    """What the name of an HLO op says of its opcode, where the trace has no module for it."""
    bare = _NUMBER.sub("", name)
    if found := _OPCODE_IN_NAME.search(bare):
        return found[2]
    return bare or "unknown"


def leading_categories(modules: HloModules, rows: Int64, told: Sequence[str]) -> list[str]:
    """The categories of HLO ops, of a fusion that of the instruction in it that leads: a product, else a reduction, and so on.

    Args:
        modules: the programs.
        rows: the instructions, -1 where the trace has none.
        told: their `categories`.
    """
    names = [*_LEADING, "data formatting"]
    rank = np.full(modules.n_instructions, len(names) - 1)
    for place, opcodes in reversed([*enumerate(_LEADING.values())]):
        rank[modules.opcode.is_in(opcodes)] = place
    leading = np.full(len(modules.root), len(names) - 1)
    np.minimum.at(leading, modules.computation, rank)
    is_fusion = modules.opcode.is_in(("fusion",)) & (np.diff(modules.called_offsets) == 1)
    known = np.flatnonzero((rows >= 0) & np.append(is_fusion, False)[rows])
    found = [*told]
    for at, place in zip(
        known.tolist(), leading[modules.called[modules.called_offsets[rows[known]]]].tolist(), strict=True
    ):
        found[at] = names[place]
    return found


def _dilated(one: Convolution) -> str:
    return "convolution" + " base-dilated" * one.is_base_dilated + " window-dilated" * one.is_window_dilated
