"""An HLO instruction -> the graph to draw of it: what is inside a fusion, of any other op what is around it.

Source: semantics 12.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ...formats.hlo.modules import HloModules
from ...trace.trace import Float64
from ..base.framework_names import framework_op
from ..base.table_types import text_column
from .hlo_cost import HloCosts, estimate_costs

MOST_NODES = 60
"""More are not read in a drawing; what is nearest to the result, or to the op, is kept."""
_LEVELS = 2
_INLINE = ("fusion", "call", "async-start")


@dataclass(frozen=True, eq=False, repr=False)
class HloGraph:
    """Instructions and what reads what; every column has one entry per node, what is read before what reads it."""

    row: tuple[int, ...]
    """The instructions, rows of the modules."""
    name: tuple[str, ...]
    """Of a fusion's parameter the operand outside that it stands for."""
    opcode: tuple[str, ...]
    shape: tuple[str, ...]
    op_name: tuple[str, ...]
    """The framework op in the instruction's metadata, empty where it names none."""
    reads: tuple[tuple[int, ...], ...]
    """The nodes whose results each one reads."""
    work_ratio: Float64
    """Of the estimated work of the fusion; NaN around an op."""
    n_nodes: int
    """How many there are, with those that are left out."""
    centre: int
    """The node that all others are around; -1 inside a fusion."""

    @property
    def frame(self) -> pd.DataFrame:
        """One row per node: `name`, `opcode`, `shape`, `op_name`, `work_ratio`, and the names that it `reads`."""
        return pd.DataFrame(
            {
                "name": text_column(self.name),
                "opcode": text_column(self.opcode),
                "shape": text_column(self.shape),
                "op_name": text_column(self.op_name),
                "work_ratio": self.work_ratio,
                "reads": pd.Series([tuple(self.name[node] for node in nodes) for nodes in self.reads], dtype=object),
            }
        )


class HloGraphs:
    """The graphs of the instructions of modules."""

    def __init__(self, modules: HloModules) -> None:
        self._modules = modules

    @cached_property
    def _costs(self) -> HloCosts:
        return estimate_costs(self._modules)

    def of(self, row: int, *, most: int = MOST_NODES) -> HloGraph:
        """The graph of an instruction: of one that is made of others these, else two levels of operands and of readers.

        Args:
            row: the instruction.
            most: how many nodes to give; those nearest to the result of the fusion, or to the op.
        """
        computation, outside = self._inside(row)
        if computation < 0:
            near = self._around(row)
            return self._graph(near[:most], {}, n_nodes=len(near), centre=row)
        low, high = self._modules.instruction_offsets[computation : computation + 2].tolist()
        root = int(self._modules.root[computation])
        rows = list(range(low, high))
        kept = rows if high - low <= most else self._sources(root if root >= 0 else high - 1, most)
        graph = self._graph(kept, outside, n_nodes=high - low, centre=-1)
        work = self._costs.work[low:high].sum()
        if work > 0:
            graph.work_ratio[:] = self._costs.work[list(graph.row)] / work
        return graph

    def _inside(self, row: int) -> tuple[int, dict[int, str]]:
        """The computation that an instruction is made of, -1 for none, and the operand that each of its parameters is.

        One that holds nothing but another such instruction, as XLA makes them on CPUs, is looked through.
        """
        modules = self._modules
        computation, outside = -1, dict[int, str]()
        while row >= 0 and modules.opcode[row] in _INLINE and (called := modules.callees(row)):
            computation = called[0]  # before its caller in the file: this ends
            operands = [outside.get(one, modules.name[one]) if one >= 0 else "?" for one in modules.operands(row)]
            inner = range(*modules.instruction_offsets[computation : computation + 2].tolist())
            number = {one: int(modules.parameter[one]) for one in inner}
            outside = {one: operands[at] for one, at in number.items() if 0 <= at < len(operands)}
            others = [one for one, at in number.items() if at < 0]
            row = others[0] if len(others) == 1 else -1
        return computation, outside

    def _sources(self, row: int, most: int) -> list[int]:
        """An instruction and what it is made from, the nearest first."""
        found = {row: None}
        edge = [row]
        while edge and len(found) < most:
            edge = [one for one in dict.fromkeys(o for row in edge for o in self._operands(row)) if one not in found]
            found |= dict.fromkeys(edge)
        return list(found)[:most]

    def _around(self, row: int) -> list[int]:
        """An instruction, its operands and theirs, its readers and theirs; the nearest first."""
        found = {row: None}
        above, below = [row], [row]
        for _ in range(_LEVELS):
            above = list(dict.fromkeys(one for row in above for one in self._operands(row)))
            below = list(dict.fromkeys(one for row in below for one, _ in self._modules.readers(row)))
            found |= dict.fromkeys((*above, *below))
        return list(found)

    def _operands(self, row: int) -> list[int]:
        return [one for one in self._modules.operands(row) if one >= 0]

    def _graph(self, rows: list[int], outside: dict[int, str], *, n_nodes: int, centre: int) -> HloGraph:
        modules, rows = self._modules, sorted(rows)
        node = {row: i for i, row in enumerate(rows)}
        names = (modules.op_name[row] for row in rows)
        return HloGraph(
            row=tuple(rows),
            name=tuple(outside.get(row, modules.name[row]) for row in rows),
            opcode=tuple(modules.opcode[row] for row in rows),
            shape=tuple(modules.shape_text[row] for row in rows),
            op_name=tuple(
                framework_op(name, modules.op_type[row])[0] if name else ""
                for row, name in zip(rows, names, strict=True)
            ),
            reads=tuple(tuple(node[one] for one in dict.fromkeys(self._operands(row)) if one in node) for row in rows),
            work_ratio=np.full(len(rows), np.nan),
            n_nodes=n_nodes,
            centre=node.get(centre, -1),
        )
