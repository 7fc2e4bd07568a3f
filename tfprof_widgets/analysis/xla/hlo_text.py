"""An instruction of an HLO module -> its text: `%add.1 = f32[32,8]{1,0} add(f32[32,8]{1,0} %a, f32[32,8]{1,0} %b)`."""

from __future__ import annotations

from ...formats.hlo.modules import HloModules

_CALLED = {"fusion": ("calls",), "async-start": ("calls",), "while": ("body", "condition"), "conditional": ("branch",)}
"""What the computations that an instruction calls are to it."""
_MAX_OPERANDS = 50
"""A fusion may read hundreds of values; its text says how many it leaves out."""


def expression(modules: HloModules, row: int) -> str:
    """The text of one instruction; constants, windows and configurations are left out."""
    operands = modules.operand[modules.operand_offsets[row] : modules.operand_offsets[row + 1]].tolist()
    called = modules.called[modules.called_offsets[row] : modules.called_offsets[row + 1]].tolist()
    shown = [f"{modules.shape_text[one]} %{modules.name[one]}" if one >= 0 else "?" for one in operands[:_MAX_OPERANDS]]
    if len(operands) > _MAX_OPERANDS:
        shown.append(f"... {_MAX_OPERANDS} of {len(operands)} operands")
    text = f"%{modules.name[row]} = {modules.shape_text[row]} {modules.opcode[row]}({', '.join(shown)})"
    if modules.opcode[row] == "fusion" and modules.detail[row]:
        text += f", kind={modules.detail[row]}"
    elif modules.detail[row]:
        text += f', custom_call_target="{modules.detail[row]}"'
    if called:
        keys = _CALLED.get(modules.opcode[row], ("to_apply",))
        names = [modules.computation_name[one] for one in called[:_MAX_OPERANDS]]
        text += "".join(f", {keys[min(i, len(keys) - 1)]}=%{name}" for i, name in enumerate(names))
    return text
