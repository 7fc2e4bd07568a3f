"""Instructions of HLO modules -> their texts: `%add.1 = f32[32,8]{1,0} add(f32[32,8]{1,0} %a, f32[32,8]{1,0} %b)`."""

from __future__ import annotations

from operator import add

import numpy as np

from ...formats.hlo.modules import HloModules
from ...trace.stat_shapes import ranges
from ...trace.trace import Int64
from ..base.matching import dense_codes, first_of

_APPLIED = ("to_apply",) * 2
_CALLED = {
    "fusion": ("calls",) * 2,
    "async-start": ("calls",) * 2,
    "while": ("body", "condition"),
    "conditional": ("branch",) * 2,
}
"""What the first computation that an instruction calls is to it, and all others."""
_MAX_OPERANDS = 50
"""A fusion may read hundreds of values; its text says how many it leaves out."""


def expressions(modules: HloModules, rows: Int64) -> list[str]:
    """The texts of some instructions, "" for row -1; constants, windows and configurations are left out."""
    texts = [""] * len(rows)
    known = np.flatnonzero(rows >= 0)
    for at, text in zip(known.tolist(), _texts(modules, rows[known]), strict=True):
        texts[at] = text
    return texts


def _texts(modules: HloModules, rows: Int64) -> list[str]:
    parts = (
        modules.name.at(modules.name.code[rows]),
        modules.shape_text.at(modules.shape_text.code[rows]),
        modules.opcode.at(modules.opcode.code[rows]),
        _operands(modules, rows),
        _details(modules, rows),
        _computations(modules, rows),
    )
    return [
        f"%{name} = {shape} {opcode}({operands}){detail}{called}"
        for name, shape, opcode, operands, detail, called in zip(*parts, strict=True)
    ]


def _operands(modules: HloModules, rows: Int64) -> list[str]:
    first = modules.operand_offsets[rows]
    n = modules.operand_offsets[rows + 1] - first
    kept = np.minimum(n, _MAX_OPERANDS)
    operand = modules.operand[ranges(first, kept)]
    shown = np.where(operand >= 0, 1, 0)
    code, n_codes = dense_codes(shown, modules.shape_text.code[operand] * shown, modules.name.code[operand] * shown)
    one_each = operand[first_of(code, n_codes)].tolist()
    texts = [f"{modules.shape_text[one]} %{modules.name[one]}" if one >= 0 else "?" for one in one_each]
    found = _joined(", ", [texts[i] for i in code.tolist()], kept)
    for row in np.flatnonzero(n > _MAX_OPERANDS).tolist():
        found[row] += f", ... {_MAX_OPERANDS} of {n[row]} operands"
    return found


def _details(modules: HloModules, rows: Int64) -> list[str]:
    is_fusion = modules.opcode.is_in(("fusion",))[rows]
    distinct = modules.detail.distinct
    kinds = [f", kind={one}" if one else "" for one in distinct]
    targets = [f', custom_call_target="{one}"' if one else "" for one in distinct]
    code = modules.detail.code[rows] + np.where(is_fusion, 0, len(distinct))
    return list(map((kinds + targets).__getitem__, code.tolist()))


def _computations(modules: HloModules, rows: Int64) -> list[str]:
    first = modules.called_offsets[rows]
    n = np.minimum(modules.called_offsets[rows + 1] - first, _MAX_OPERANDS)
    place = np.minimum(ranges(np.zeros_like(n), n), len(_APPLIED) - 1)
    keys = [f", {key}=%" for opcode in modules.opcode.distinct for key in _CALLED.get(opcode, _APPLIED)]
    key = (np.repeat(modules.opcode.code[rows], n) * len(_APPLIED) + place).tolist()
    names = map(modules.computation_name.__getitem__, modules.called[ranges(first, n)].tolist())
    return _joined("", list(map(add, map(keys.__getitem__, key), names)), n)


def _joined(between: str, texts: list[str], n: Int64) -> list[str]:
    """The first `n[0]` texts as one, the next `n[1]`, and so on."""
    end = np.cumsum(n)
    found = np.full(len(n), "", object)
    is_one = n == 1
    found[is_one] = np.array(texts, object)[end[is_one] - 1]
    many = np.flatnonzero(n > 1)
    ends = zip((end - n)[many].tolist(), end[many].tolist(), strict=True)
    found[many] = [between.join(texts[low:high]) for low, high in ends]
    texts = found.tolist()
    return texts
