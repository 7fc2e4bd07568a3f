"""The noted graphs -> what an op of them reads, in which shapes, and what running it and its gradient takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.source_map import SourceMap, parse_shapes
from ...trace.trace import Bool

if TYPE_CHECKING:
    from .run_facts import RunFacts

PASSES_ON = frozenset(("Identity", "Cast", "Reshape", "ReadVariableOp", "StopGradient", "ExpandDims", "Squeeze"))
"""Types of ops that give on what they read, in another form at most."""
PRODUCTS = frozenset(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"))
"""Types of products of matrices."""
_MOST_STEPS = 8


@dataclass(frozen=True, eq=False, repr=False)
class TracedOps:
    """The ops of the noted graphs; `row` is always one of `SourceMap.ops`."""

    source_map: SourceMap
    row: pd.Series
    """For each framework op that of itself, -1 for none."""
    of_row: pd.Series
    """For each framework op that of itself, or of a gradient op of the op that it is the gradient of."""

    @cached_property
    def type(self) -> pd.Series:
        """Type of each."""
        return self.source_map.ops["type"]

    @property
    def dtype(self) -> pd.Series:
        """What type of numbers an op makes, by its row; "" where that is not known."""
        return self._shapes["dtype"]

    @cached_property
    def _shapes(self) -> pd.DataFrame:
        return self.source_map.details.drop_duplicates("op").set_index("op")

    @cached_property
    def _source(self) -> pd.Series:
        edges = self.source_map.edges
        data = edges[(edges["source_output"] >= 0) & (edges["source"] >= 0)].drop_duplicates(["op", "slot"])
        return data.set_index(["op", "slot"])["source"]

    def input_shapes(self, row: int) -> list[tuple[int, ...] | None]:
        """Shapes of what an op reads, see `parse_shapes`; [] where not known."""
        return parse_shapes(str(self._shapes["input_shapes"].get(row, "")))

    def output_shapes(self, row: int) -> list[tuple[int, ...] | None]:
        """Shapes of what it makes, likewise."""
        return parse_shapes(str(self._shapes["output_shapes"].get(row, "")))

    def has_shape(self, row: int, shape: tuple[int, ...]) -> bool:
        """Whether an op reads or makes a tensor of a shape."""
        return shape in self.input_shapes(row) or shape in self.output_shapes(row)

    def source(self, row: int, slot: int) -> int:
        """The op that made what an op reads; -1 where it is not known."""
        return int(self._source.get((row, slot), -1))

    def behind(self, row: int, slot: int) -> int:
        """The op that made what an op reads, through those that only pass it on; -1 where it is not known."""
        for _ in range(_MOST_STEPS):
            row, slot = self.source(row, slot), 0
            if row < 0 or self.type[row] not in PASSES_ON or (row, 0) not in self._source.index:
                break
        return row

    def before(self, rows: list[int]) -> list[int]:
        """All ops that some ops come behind, within their graphs."""
        edges = self.source_map.edges
        source, op = edges["source"].to_numpy(), edges["op"].to_numpy()
        found = np.zeros(len(self.type), np.bool_)
        newest = np.array(rows, np.int64)
        while len(newest):  # one turn per op along the longest path
            newest = np.unique(source[np.isin(op, newest) & (source >= 0)])
            newest = newest[~found[newest]]
            found[newest] = True
        return np.flatnonzero(found).tolist()

    def readers(self, rows: list[int]) -> list[int]:
        """The ops that read what some ops make."""
        edges = self.source_map.edges
        is_read = edges["source"].isin(rows) & (edges["source_output"] >= 0)
        found: list[int] = edges["op"][is_read].unique().tolist()
        return found

    def variable(self, row: int) -> int:
        """The row of the variable that an op reads, -1 for none that is known."""
        return int(self._shapes["variable"].get(row, -1))

    def runs(self, rows: list[int]) -> Bool:
        """Which framework ops are some ops or gradients of them."""
        chosen: Bool = np.isin(self.of_row, rows)
        return chosen

    def ran(self, *types: str) -> list[int]:
        """The ops of some types that ran themselves, not as gradients of others."""
        rows = np.unique(self.row[self.row >= 0])
        found: list[int] = rows[self.type.iloc[rows].isin(types).to_numpy()].tolist()
        return found


def traced_ops(run: RunFacts) -> TracedOps | None:
    """Find them; None where nothing is noted of any graph."""
    source_map = run.results.source_map
    if source_map is None or not len(source_map.details):
        return None
    match = run.results.op_match
    return TracedOps(source_map, pd.Series(match.own_row), pd.Series(match.row))
