"""HLO opcodes -> the category under which an HLO op is listed: `loop fusion`, `convolution`, `data formatting`, ...

Source: `ToCategory` of XLA's HLO instructions, which is what XProf shows.
"""

from __future__ import annotations

import re

from ...formats.hlo.modules import HloModules

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
_NUMBER = re.compile(r"(\.[\w]*\d)+$")
_OPCODE_IN_NAME = re.compile(r"(^|[_.-])(fusion|convolution|dot|copy|reduce|custom-call|while|all-reduce)([_.-]|$)")


def category_of(modules: HloModules, row: int) -> str:
    """The category of one instruction."""
    opcode = modules.opcode[row]
    if opcode == "fusion":
        return _FUSIONS.get(modules.detail[row], "unknown fusion")
    if opcode in _FORMATTING:
        return "data formatting"
    if opcode in ELEMENTWISE:
        return "non-fusion elementwise"
    if opcode == "convolution":
        return _dilated(modules, row)
    return opcode


def guessed_category(name: str) -> str:
    """What the name of an HLO op says of its opcode, where the trace has no module for it."""
    bare = _NUMBER.sub("", name)
    if found := _OPCODE_IN_NAME.search(bare):
        return found[2]
    return bare or "unknown"


def _dilated(modules: HloModules, row: int) -> str:
    category = "convolution"
    for one in modules.convolutions:  # a program has few
        if one.instruction == row:
            category += " base-dilated" * one.is_base_dilated + " window-dilated" * one.is_window_dilated
    return category
