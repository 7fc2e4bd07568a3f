"""Work on GPUs -> how near ops, kernels, layers and steps come to what their device could do.

Source: semantics 19.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.trace import Float64, Int64, Trace
from ..base.compute_units import N_UNITS, UNIT_TEXTS, ComputeUnit
from ..base.units import PS_PER_US
from ..columns.registry import TABLES
from ..layers.layers import Layers
from ..ops.kernels import Kernels
from ..ops.op_occurrences import Occurrences
from ..ops.op_shares import OpShares
from ..steps.steps import Steps, TracedSteps
from .peaks import peak_table
from .work import UNIT_PS, work_of

RooflineRows = Literal["op", "kernel", "layer", "step"]
COLUMNS = TABLES["roofline"].names
_PS_PER_S = 1e12
_MOSTLY = 0.9
"""Of the time on devices, for how much float operations and peaks must be known to tell a step's share of the peak."""


@dataclass(frozen=True, eq=False, repr=False)
class Roofline:
    """The work on GPUs, and tables of it."""

    work: pd.DataFrame
    """See `work_of`."""
    peaks: Float64
    """Operations and bytes a second of each plane, see `peak_table`."""
    peak_of_host: dict[str, float]
    """Operations a second of the fastest units that any product ran on, of all devices of a host that ran one."""
    names: tuple[str, ...]
    """Of each op of `work`."""
    shares: OpShares
    layers: Layers
    kernels: Kernels
    steps: Steps

    @cached_property
    def units(self) -> Int64:
        """The rows of the table of units that ran, most time first: those of `frame`."""
        return self._of_unit["ps"].sort_values(ascending=False, kind="stable").index.to_numpy(np.int64)

    @cached_property
    def _of_unit(self) -> pd.DataFrame:
        return _sums(self.work, self.work["op"].to_numpy())

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The table by op."""
        return self.by("op")

    def by(self, rows: RooflineRows) -> pd.DataFrame:
        """The columns of `roofline`, one row per op that ran, kernel of `kernels`, layer, or step.

        Raises:
            ValueError: `rows` is none of them.
        """
        if rows == "op":
            return self._by_op()
        if rows == "kernel":
            return _by_time(self._by_kernel())
        if rows == "layer":
            return _by_time(self._by_layer())
        if rows == "step":
            return self._by_step()
        raise ValueError(f"by={rows!r}: one of {', '.join(map(repr, get_args(RooflineRows)))}")

    def _by_op(self) -> pd.DataFrame:
        framework = self.shares.dominant[self.units]
        return _table(
            self._of_unit.loc[self.units],
            name=[self.names[row] for row in self.units.tolist()],
            op_name=[self.shares.name[row] for row in framework.tolist()],
            layer=self.layers.entries["layer"].to_numpy(object)[self.layers.op_entry[framework]],
        )

    def _by_kernel(self) -> pd.DataFrame:
        row = np.full(int(self.work["event"].max()) + 1 if len(self.work) else 0, -1, np.int64)
        is_known = self.kernels.run_event < len(row)
        row[self.kernels.run_event[is_known]] = self.kernels.run_kernel[is_known]
        sums = _sums(self.work, row[self.work["event"]])
        frame = self.kernels.frame.iloc[sums.index]
        return _table(sums.assign(runs=frame["occurrences"].to_numpy()), name=frame["name"], op_name=frame["op_name"])

    def _by_layer(self) -> pd.DataFrame:
        pairs = np.flatnonzero(np.isin(self.shares.unit, self.units))
        parts = self._of_unit.loc[self.shares.unit[pairs]].mul(self.shares.ratio[pairs], axis=0)
        sums = _sums(parts, self.layers.op_entry[self.shares.op[pairs]])
        names = self.layers.entries["layer"].to_numpy(object)[sums.index]
        return _table(sums, name=names, layer=names)

    def _by_step(self) -> pd.DataFrame:
        steps = self.steps.frame if len(self.work) else self.steps.frame.iloc[:0]
        sums = _sums(self.work, self.steps.event_step[self.work["event"]]).reindex(steps.index, fill_value=0.0)
        frame = _table(sums, name=steps["name"])
        is_known = sums["peaked_ps"].to_numpy() >= _MOSTLY * sums["ps"].to_numpy()
        peak = np.array([self.peak_of_host.get(host, np.nan) for host in steps["host"].tolist()], np.float64)
        share = sums["flops"].to_numpy() / (steps["duration_ps"].to_numpy() / _PS_PER_S * peak)
        return frame.assign(mfu_ratio=np.where(is_known, share, np.nan))


def compute_roofline(
    trace: Trace,
    occurrences: Occurrences,
    *,
    shares: OpShares,
    layers: Layers,
    kernels: Kernels,
    steps: TracedSteps,
    graph_flops: Float64 | None = None,
) -> Roofline:
    """Set what ran on GPUs against what they could do; no work where none ran.

    Args:
        trace: the trace.
        occurrences: the executions of its ops.
        shares: which framework ops they stand for, and what HLO ops compute and move.
        layers: the layers of those.
        kernels: the kernels.
        steps: the steps.
        graph_flops: for each framework op the float operations of one execution as its graph tells them, NaN or 0 unknown.
    """
    flops = shares.flops.copy()
    if graph_flops is not None:
        told = graph_flops[: occurrences.n_ops]
        flops[: occurrences.n_ops] = np.where(told > 0, told, np.nan)
    work = work_of(trace, occurrences, flops, shares.bytes_accessed, steps.span_type)
    peaks = peak_table(trace)
    peak_of_host = _peak_of_host(trace, work, peaks)
    return Roofline(work, peaks, peak_of_host, occurrences.name, shares, layers, kernels, steps)


def _peak_of_host(trace: Trace, work: pd.DataFrame, peaks: Float64) -> dict[str, float]:
    """Of each device the highest peak of the units that anything ran on that has one, added up by host."""
    is_on = (work[UNIT_PS].to_numpy() > 0) & (work["peak_ps"] > 0).to_numpy()[:, None]
    used = np.zeros((len(peaks), N_UNITS), np.bool_)
    np.logical_or.at(used, trace.plane_id[work["event"]], is_on)
    total: dict[str, float] = {}
    for plane in np.flatnonzero(used.any(axis=1)).tolist():
        host = trace.planes[plane].host
        total[host] = total.get(host, 0.0) + float(np.fmax.reduce(peaks[plane, :N_UNITS][used[plane]]))
    return total


def _sums(work: pd.DataFrame, key: npt.NDArray[np.integer]) -> pd.DataFrame:
    """Work by key, those with key -1 left out; the index is the key."""
    is_in = key >= 0
    code = key[is_in]
    rows = np.flatnonzero(np.bincount(code))
    names = work.columns.difference(["op", "event"], sort=False)
    # Column by column: a copy of them all takes as much memory as the trace.
    return pd.DataFrame({name: np.bincount(code, work[name].to_numpy()[is_in])[rows] for name in names}, index=rows)


def _by_time(frame: pd.DataFrame) -> pd.DataFrame:
    order = frame["time_us"].sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def _table(sums: pd.DataFrame, *, name: object, op_name: object = "", layer: object = "") -> pd.DataFrame:
    def known(value: str, over: str) -> Float64:
        """A sum, NaN where it is of nothing."""
        return np.where(sums[over] > 0, sums[value], np.nan)

    flops, n_bytes = known("flops", "flops_ps"), known("bytes", "bytes_ps")
    with np.errstate(divide="ignore", invalid="ignore"):
        intensity = np.where(n_bytes > 0, flops / n_bytes, np.nan)
    units = sums[UNIT_PS].to_numpy()
    unit = np.where(units.any(axis=1), units.argmax(axis=1), ComputeUnit.UNKNOWN)
    texts = pd.DataFrame({"name": name, "op_name": op_name, "layer": layer}, index=sums.index, dtype=object)
    numbers = pd.DataFrame(
        {
            "unit": [UNIT_TEXTS[one] for one in unit.tolist()],
            "occurrences": np.rint(sums["runs"]).astype(np.int64),
            "time_us": sums["ps"] / PS_PER_US,
            "time_ratio": sums["ps"] / sums["ps"].sum(),
            "flops": flops,
            "bytes": n_bytes,
            "known_ratio": sums["known_ps"] / sums["ps"],
            "flop_rate_tflops": flops / sums["flops_ps"],
            "bandwidth_gbps": n_bytes / sums["bytes_ps"] * 1e3,
            "intensity": intensity,
            "mfu_ratio": known("peak_ps", "peaked_ps") / sums["peaked_ps"],
            "roof_ratio": known("least_ps", "judged_ps") / sums["judged_ps"],
            "bound": _bound(sums),
        },
        index=sums.index,
    )
    return pd.concat([texts, numbers], axis=1)[list(COLUMNS)].reset_index(drop=True)


def _bound(sums: pd.DataFrame) -> np.ndarray:
    bound = np.where(sums["computing_ps"] > sums["least_ps"] / 2, "compute", "memory").astype(object)
    bound[sums["cached_ps"].to_numpy() > sums["judged_ps"].to_numpy()] = "cache"
    bound[(sums["least_ps"] + sums["cached_ps"]).to_numpy() == 0] = ""
    return bound
