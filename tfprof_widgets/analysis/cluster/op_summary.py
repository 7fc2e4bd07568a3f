"""Ops of one host -> tables that travel: executions and time of each unit, and which framework ops it stands for.

summarize_ops(results, units) -> tables
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.trace import Int64
from ..base.compute_units import N_UNITS
from ..base.matching import sum_by
from ..ops.ops import op_sums
from .columns import PackedFrame
from .step_summary import step_kinds

if TYPE_CHECKING:
    from ..facts.facts import Facts

MAX_UNITS = 2_000
"""Of one host those with the most time of their own; that of the others is in one op a side, `OTHERS`."""
OTHERS = "other ops"
"""Name and type of an op that has the executions and times of those left out; no op of TensorFlow has a space in its name."""
SUMS = ("count", "n_done", "total_ps", "self_ps")
"""What is added up of each unit, see `OpSums`."""
UNIT_NS = tuple(f"unit_{unit}_ns" for unit in range(N_UNITS))
"""Likewise, the columns of `OpSums.unit_ns`."""


@dataclass(frozen=True)
class KeptUnits:
    """Which units travel, and where they go."""

    n_all: int
    ordinary: Int64
    """Units that are ordinary ops, ascending."""
    others: tuple[bool, ...]
    """For each entry `OTHERS`, which follow the ordinary ops, whether it is of devices."""
    hlo: Int64
    """Units that are HLO ops, ascending."""
    place: Int64
    """For each unit its number in the summary, -1 for one that did not run."""

    @property
    def n_ordinary(self) -> int:
        """How many ordinary ops the summary has."""
        return len(self.ordinary) + len(self.others)


def kept_units(results: Facts) -> KeptUnits:
    """Choose the units with the most time of their own, and those ordinary ops that chosen HLO ops stand for, too."""
    occurrences, shares = results.occurrences, results.op_shares
    n_units, n_ops = len(occurrences.name), occurrences.n_ops
    ran = np.unique(occurrences.op).astype(np.int64)
    is_kept = np.zeros(n_units, np.bool_)
    is_kept[ran] = True
    if len(ran) > MAX_UNITS:
        own = sum_by(occurrences.op, occurrences.self_ps, n_units)
        is_kept[ran[np.argsort(-own[ran], kind="stable")[MAX_UNITS:]]] = False
        paired = shares.op[is_kept[shares.unit] & (shares.unit >= n_ops)]
        is_kept[paired[paired < n_ops]] = True
    others = (True, False) if not is_kept[ran].all() else ()
    ordinary, hlo = np.flatnonzero(is_kept[:n_ops]), n_ops + np.flatnonzero(is_kept[n_ops:])
    place = np.full(n_units, -1, np.int64)
    place[ran] = len(ordinary) + np.where(occurrences.is_device[ran], 0, 1)
    place[ordinary] = np.arange(len(ordinary))
    place[hlo] = len(ordinary) + len(others) + np.arange(len(hlo))
    return KeptUnits(len(ran), ordinary, others, hlo, place)


def summarize_ops(results: Facts, units: KeptUnits) -> dict[str, PackedFrame]:
    """Add the executions of each unit up.

    Returns:
        `ops`, the framework ops: ordinary ones, which are units, then those that only compiled programs ran; `units` with
        `SUMS` and `UNIT_NS`, each with its row of `ops` or of `hlo_ops` and -1 in place of the other; `pairs`, the HLO ops
        and the ops that they stand for, see `OpShares.ratio`; and `kinds`, the time and the executions of each unit by
        the kind of step, -1 for no step.
    """
    return {name: PackedFrame.of(frame) for name, frame in _tables(results, units)}


def _tables(results: Facts, units: KeptUnits) -> Iterator[tuple[str, pd.DataFrame]]:
    occurrences, shares = results.occurrences, results.op_shares
    n, n_hlo, n_ops = units.n_ordinary, len(units.hlo), occurrences.n_ops
    chosen = np.isin(shares.unit, units.hlo)
    compiled = np.unique(shares.op[chosen & (shares.op >= n_ops)]).astype(np.int64)
    place = np.full(len(shares), -1, np.int64)
    place[units.ordinary] = np.arange(len(units.ordinary))
    place[compiled] = n + np.arange(len(compiled))
    yield "ops", _ops(results, units, np.concatenate([units.ordinary, np.full(len(units.others), -1), compiled]))
    sums = op_sums(occurrences)
    added = pd.DataFrame({name: getattr(sums, name) for name in SUMS}).assign(place=units.place)
    added[list(UNIT_NS)] = sums.unit_ns
    every = np.arange(n + n_hlo)
    added = added[units.place >= 0].groupby("place").sum().reindex(every, fill_value=0)
    yield "units", added.assign(op=np.where(every < n, every, -1), hlo=np.maximum(every - n, -1))
    pairs = {"hlo": units.place[shares.unit[chosen]] - n, "op": place[shares.op[chosen]], "ratio": shares.ratio[chosen]}
    yield "pairs", pd.DataFrame(pairs)
    kind = np.append(step_kinds(results.steps), -1)[results.steps.event_step[occurrences.event]]
    own = pd.DataFrame(
        {
            "unit": units.place[occurrences.op],
            "kind": kind,
            "total_ps": occurrences.duration_ps,
            "self_ps": occurrences.self_ps,
            "count": occurrences.is_first.astype(np.int64),
        }
    )
    yield "kinds", own.groupby(["unit", "kind"], as_index=False).sum()


def _ops(results: Facts, units: KeptUnits, listed: Int64) -> pd.DataFrame:
    """The ops of these numbers, -1 for `OTHERS`."""
    shares = results.op_shares
    every = {
        "name": [*shares.name, OTHERS],
        "type": [*shares.type, OTHERS],
        "is_device": np.append(shares.is_device, False),
        "is_eager": np.append(shares.is_eager, False),
        "is_input": np.append(results.op_scopes.is_input, False),
        "source_file": [*shares.source_file, ""],
        "source_line": np.append(shares.source_line, -1),
    }
    texts = dict.fromkeys(("name", "type", "source_file"), object)
    frame = pd.DataFrame(every).astype(texts).iloc[listed]
    is_device = frame["is_device"].to_numpy(np.bool_, copy=True)
    is_device[len(units.ordinary) : units.n_ordinary] = units.others
    return frame.assign(is_device=is_device, is_ordinary=np.arange(len(listed)) < units.n_ordinary)
