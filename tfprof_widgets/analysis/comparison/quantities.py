"""Quantities: the rows of one run that are compared with those of another, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64, Int64
from .name_pairs import Path, pair_names


@dataclass(frozen=True, eq=False, repr=False)
class Quantities:
    """Rows of one kind (ops, layers, ...); all fields have one entry per row."""

    labels: pd.DataFrame
    """What a reader sees of each row beside its numbers."""
    paths: Sequence[Path]
    """The name of each, all different, for pairing with those of the other run."""
    per_cell: Float64
    """The value in each cell per step, shape (rows, cells): ms, bytes or counts."""
    count: Float64
    """Executions per step; 0 where nothing is counted."""
    seen: Float64
    """In which share of the cells it occurs, [0, 1]; 0 for what only occurs in steps that the averages leave out."""
    is_device: Bool
    is_waiting: Bool
    """Whether it waits for others rather than works: it fills what they leave, and differs as much as they do."""

    def __len__(self) -> int:
        return len(self.paths)

    @classmethod
    def of(
        cls,
        labels: pd.DataFrame,
        paths: Sequence[Path],
        per_cell: Float64,
        *,
        count: Float64 | None = None,
        seen: Float64 | None = None,
        is_device: Bool | None = None,
        is_waiting: Bool | None = None,
    ) -> Quantities:
        """Rows, with what is not given as if it were of no interest."""
        n = len(paths)
        return cls(
            labels=labels.reset_index(drop=True),
            paths=paths,
            per_cell=per_cell,
            count=np.zeros(n) if count is None else count,
            seen=(per_cell != 0).mean(axis=1) if seen is None else seen,
            is_device=np.zeros(n, np.bool_) if is_device is None else is_device,
            is_waiting=np.zeros(n, np.bool_) if is_waiting is None else is_waiting,
        )


def pair_rows(a: Quantities, b: Quantities) -> Int64:
    """For each row of `a` the row of `b` of its name, -1 for none; what it costs tells alike ones apart."""
    return pair_names(a.paths, b.paths, a.per_cell.mean(axis=1), b.per_cell.mean(axis=1))


def numbered(paths: Sequence[Path]) -> list[Path]:
    """Paths of which the second and later ones of a name bear a number, so that all differ."""
    seen: dict[Path, int] = {}
    found = []
    for path in paths:
        seen[path] = seen.get(path, 0) + 1
        found.append((*path, f"#{seen[path]}") if seen[path] > 1 else path)
    return found
