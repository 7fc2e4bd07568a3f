"""Messages of HLO modules -> the columns of `HloModules`, module by module."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ...trace.bounds import decoded
from .parts import Convolution, Dot, Frames, WindowDimension
from .products import contracted, convolved, first_result, is_input_gradient
from .shapes import MAX_SIZE, TUPLE, layout_of, size_of, tuple_text

_PER_INSTRUCTION = (
    "computation", "name", "opcode", "detail", "op_name", "op_type", "source_file", "source_line", "frame", "dtype",
    "n_elements", "n_bytes", "n_dims", "n_operands", "n_called", "window_elements", "parameter", "tuple_text",
)  # fmt: skip


@dataclass
class _Known:
    """What was met in one module so far, by the ids of the file."""

    first_frame: int
    row: dict[int, int] = field(default_factory=dict)
    shape: dict[int, Any] = field(default_factory=dict)
    computation: dict[int, int] = field(default_factory=dict)


class HloColumns:
    """Collects modules; `arrays()` gives the fields of `HloModules`."""

    def __init__(self) -> None:
        self._programs: list[tuple[int, str, str]] = []
        self._computations: list[tuple[int, str, int]] = []
        self._sizes: list[int] = []
        self._rows: list[tuple[Any, ...]] = []
        self._dims: list[int] = []
        self._layout: list[int] = []
        self._operands: list[int] = []
        self._called: list[int] = []
        self._frames: list[tuple[int, str, int, str]] = []
        self._dots: list[Dot] = []
        self._convolutions: list[Convolution] = []

    def add(self, module: Any, *, program_id: int, host: str) -> None:
        """Take up one module."""
        number = len(self._programs)
        self._programs.append((program_id, _text(module.name), host))
        known = _Known(first_frame=len(self._frames))
        self._add_frames(module.stack_frame_index)
        for computation in module.computations:
            own = len(self._computations)
            for instruction in computation.instructions:
                self._add_instruction(instruction, own, known)
            known.computation[computation.id] = own
            self._computations.append((number, _text(computation.name), known.row.get(computation.root_id, -1)))
            self._sizes.append(len(computation.instructions))

    def _add_frames(self, index: Any) -> None:
        files, functions = index.file_names, index.function_names
        locations = index.file_locations
        first, n_frames = len(self._frames), len(index.stack_frames)
        for frame in index.stack_frames:
            at = frame.file_location_id - 1  # ids count from 1, 0 is none
            place = locations[at] if 0 <= at < len(locations) else None
            parent = frame.parent_frame_id - 1
            self._frames.append(
                (
                    first + parent if 0 <= parent < n_frames else -1,
                    _item(files, place.file_name_id) if place is not None else "",
                    place.line if place is not None else -1,
                    _item(functions, place.function_name_id) if place is not None else "",
                )
            )

    def _add_instruction(self, instruction: Any, computation: int, known: _Known) -> None:
        row = len(self._rows)
        shape, opcode = instruction.shape, _text(instruction.opcode)
        dims = shape.dimensions
        self._dims += dims
        self._layout += layout_of(shape)
        operands = [known.row.get(id_, -1) for id_ in instruction.operand_ids]  # before it is known: none reads itself
        known.row[instruction.id], known.shape[instruction.id] = row, shape
        called = [known.computation[id_] for id_ in instruction.called_computation_ids if id_ in known.computation]
        self._operands += operands
        self._called += called
        detail = instruction.fusion_kind or instruction.custom_call_target
        window = _window_elements(instruction) if instruction.HasField("window") else 1
        self._rows.append(
            (computation, _text(instruction.name), opcode, _text(detail), *self._origin(instruction.metadata, known),
             shape.element_type, *size_of(shape), len(dims), len(operands), len(called), window,
             max(0, min(instruction.parameter_number, 2**31 - 1)) if opcode == "parameter" else -1,
             tuple_text(shape) if shape.element_type == TUPLE else "")
        )  # fmt: skip
        summed = contracted(instruction)
        if summed is not None:
            self._dots.append(Dot(row, summed, *size_of(first_result(shape))))
        sides = convolved(instruction, [known.shape.get(id_) for id_ in instruction.operand_ids])
        if sides is not None:
            self._convolutions.append(_convolution(row, instruction, *sides))

    def _origin(self, metadata: Any, known: _Known) -> tuple[str, str, str, int, int]:
        """Name and type of the framework op, and file, line and frame that made it."""
        frame = metadata.stack_frame_id - 1 + known.first_frame
        frame = frame if known.first_frame <= frame < len(self._frames) else -1
        file, line = _text(metadata.source_file), metadata.source_line
        if not file and frame >= 0:
            _, file, line, _ = self._frames[frame]
        return _text(metadata.op_name), _text(metadata.op_type), file, line if file else -1, frame

    def arrays(self) -> dict[str, Any]:
        """The fields of `HloModules`, but for `warnings`."""
        columns: dict[str, Any] = dict(
            zip(
                _PER_INSTRUCTION,
                zip(*self._rows, strict=True) if self._rows else [()] * len(_PER_INSTRUCTION),
                strict=True,
            )
        )
        program, module_name, host = zip(*self._programs, strict=True) if self._programs else [()] * 3
        owner, computation_name, root = zip(*self._computations, strict=True) if self._computations else [()] * 3
        parent, file, line, function = zip(*self._frames, strict=True) if self._frames else [()] * 4
        for name in ("computation", "source_line", "frame", "dtype", "parameter"):
            columns[name] = np.array(columns[name], np.int32)
        for name in ("n_elements", "n_bytes", "window_elements"):
            columns[name] = np.array(columns[name], np.int64)
        for name in ("dim", "operand", "called"):
            columns[f"{name}_offsets"] = _offsets(columns.pop({"called": "n_called"}.get(name, f"n_{name}s")))
        return columns | {
            "program_id": np.array(program, np.int64),
            "module_name": tuple(module_name),
            "host": tuple(host),
            "computation_module": np.array(owner, np.int32),
            "computation_name": tuple(computation_name),
            "root": np.array(root, np.int64),
            "instruction_offsets": _offsets(self._sizes),
            "dims": np.array(self._dims, np.int64),
            "layout": np.array(self._layout, np.int64),
            "operand": np.array(self._operands, np.int64),
            "called": np.array(self._called, np.int32),
            "frames": Frames(np.array(parent, np.int32), tuple(file), np.array(line, np.int32), tuple(function)),
            "dots": tuple(self._dots),
            "convolutions": tuple(self._convolutions),
        }


def _window_elements(instruction: Any) -> int:
    sizes: list[int] = [max(side.size, 1) for side in instruction.window.dimensions]
    return min(math.prod(sizes), MAX_SIZE)


def _convolution(row: int, instruction: Any, base: Any, output: Any) -> Convolution:
    numbers = instruction.convolution_dimensions
    sides = instruction.window.dimensions
    window = tuple(
        WindowDimension(
            size=side.size,
            stride=max(side.stride, 1),
            padding_low=side.padding_low,
            window_dilation=max(side.window_dilation, 1),
            base_dilation=max(side.base_dilation, 1),
            input_size=_dim(base, _dim(numbers.input_spatial, i, -1)),
            output_size=_dim(output, _dim(numbers.output_spatial, i, -1)),
        )
        for i, side in enumerate(sides)
    )
    return Convolution(
        instruction=row,
        window=window,
        input_features=_dim(base, numbers.input_feature) // max(instruction.feature_group_count, 1),
        output_features=_dim(output, numbers.output_feature),
        batch=_dim(base, numbers.input_batch) // max(instruction.batch_group_count, 1),
        n_bytes=size_of(first_result(instruction.shape))[1],
        reads_input=not is_input_gradient(instruction),
        is_base_dilated=any(side.base_dilation > 1 for side in sides),
        is_window_dilated=any(side.window_dilation > 1 for side in sides),
    )


def _dim(dims: Any, index: int, default: int = 0) -> int:
    return int(dims[index]) if 0 <= index < len(dims) else default


def _offsets(counts: Any) -> Any:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(counts, np.int64))])


def signed_id(value: int) -> int:
    """TPU programs have ids of 64 bits; they are kept as events have them, in two's complement."""
    return (value + 2**63) % 2**64 - 2**63


def _item(texts: Any, id_: int) -> str:
    return _text(texts[id_ - 1]) if 0 < id_ <= len(texts) else ""


_text = lru_cache(maxsize=65536)(decoded)
