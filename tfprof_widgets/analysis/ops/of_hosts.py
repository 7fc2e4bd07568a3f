"""Ops of one host -> sums that travel; those of all hosts -> the ops, units and HLO ops of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...read.hlo import read_hlo_modules
from ...read.hlo_messages import Frames
from ...trace.arrays import Bool, Float64, Int64
from ...trace.trace import Trace
from ..common import PS_PER_US, sum_by
from ..grouping import N_UNITS
from ..summaries import MOST, OTHER_OPS, OWNER, PackedFrame, united
from ..xla.units import HloUnits
from .executions import Occurrences, Units
from .ops import OpSums, UnitSums, op_sums
from .other import HloOps, hlo_table
from .shares import OpShares, dominant_ops

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


def kept_units(occurrences: Occurrences, shares: OpShares) -> KeptUnits:
    """Choose the units with the most time of their own, and those ordinary ops that chosen HLO ops stand for, too."""
    n_units, n_ops = len(occurrences.name), occurrences.n_ops
    ran = np.unique(occurrences.op).astype(np.int64)
    is_kept = np.zeros(n_units, np.bool_)
    is_kept[ran] = True
    if len(ran) > MOST.units:
        own = sum_by(occurrences.op, occurrences.self_ps, n_units)
        is_kept[ran[np.argsort(-own[ran], kind="stable")[MOST.units :]]] = False
        paired = shares.op[is_kept[shares.unit] & (shares.unit >= n_ops)]
        is_kept[paired[paired < n_ops]] = True
    others = (True, False) if not is_kept[ran].all() else ()
    ordinary, hlo = np.flatnonzero(is_kept[:n_ops]), n_ops + np.flatnonzero(is_kept[n_ops:])
    place = np.full(n_units, -1, np.int64)
    place[ran] = len(ordinary) + np.where(occurrences.is_device[ran], 0, 1)
    place[ordinary] = np.arange(len(ordinary))
    place[hlo] = len(ordinary) + len(others) + np.arange(len(hlo))
    return KeptUnits(len(ran), ordinary, others, hlo, place)


def summarize_ops(
    occurrences: Occurrences, shares: OpShares, units: KeptUnits, *, is_input: Bool, step_kind: Int64
) -> dict[str, PackedFrame]:
    """Add the executions of each unit up; `step_kind` is that of the step of each event."""
    kind = step_kind[occurrences.event]
    tables = _tables(occurrences, shares, units, is_input=is_input, kind=kind)
    return {name: PackedFrame.of(frame) for name, frame in tables}


def _tables(
    occurrences: Occurrences, shares: OpShares, units: KeptUnits, *, is_input: Bool, kind: Int64
) -> Iterator[tuple[str, pd.DataFrame]]:
    n, n_hlo, n_ops = units.n_ordinary, len(units.hlo), occurrences.n_ops
    chosen = np.isin(shares.unit, units.hlo)
    compiled = np.unique(shares.op[chosen & (shares.op >= n_ops)]).astype(np.int64)
    place = np.full(len(shares), -1, np.int64)
    place[units.ordinary] = np.arange(len(units.ordinary))
    place[compiled] = n + np.arange(len(compiled))
    yield (
        "ops",
        _ops(shares, units, is_input, np.concatenate([units.ordinary, np.full(len(units.others), -1), compiled])),
    )
    sums = op_sums(occurrences)
    added = pd.DataFrame({name: getattr(sums, name) for name in SUMS}).assign(place=units.place)
    added[list(UNIT_NS)] = sums.unit_ns
    every = np.arange(n + n_hlo)
    added = added[units.place >= 0].groupby("place").sum().reindex(every, fill_value=0)
    yield "units", added.assign(op=np.where(every < n, every, -1), hlo=np.maximum(every - n, -1))
    pairs = {"hlo": units.place[shares.unit[chosen]] - n, "op": place[shares.op[chosen]], "ratio": shares.ratio[chosen]}
    yield "pairs", pd.DataFrame(pairs)
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


def _ops(shares: OpShares, units: KeptUnits, is_input: Bool, listed: Int64) -> pd.DataFrame:
    """The ops of these numbers, -1 for `OTHERS`."""
    every = {
        "name": [*shares.name, OTHER_OPS],
        "type": [*shares.type, OTHER_OPS],
        "is_device": np.append(shares.is_device, False),
        "is_eager": np.append(shares.is_eager, False),
        "is_input": np.append(is_input, False),
        "source_file": [*shares.source_file, ""],
        "source_line": np.append(shares.source_line, -1),
    }
    texts = dict.fromkeys(("name", "type", "source_file"), object)
    frame = pd.DataFrame(every).astype(texts).iloc[listed]
    is_device = frame["is_device"].to_numpy(np.bool_, copy=True)
    is_device[len(units.ordinary) : units.n_ordinary] = units.others
    return frame.assign(is_device=is_device, is_ordinary=np.arange(len(listed)) < units.n_ordinary)


_HLO_KEY = ["device", "program_id", "module", "name"]
_TOLD = ("program_id", "module", "category", "name", "expression", "op_name", "op_type", "device", "source")
CUT = "…"


@dataclass(frozen=True, eq=False, repr=False)
class MergedHlo:
    frame: pd.DataFrame
    """One row per HLO op of a program and side, by appearance: `HLO_OPS_COLUMNS` without ranks and ratios, and times in ps."""
    row: Int64
    """For each HLO op of each host the row of `frame`."""

    def table(self, n_ordinary: int) -> HloOps:
        """The `hlo_ops` table; HLO ops are units `n_ordinary`, `n_ordinary + 1`, ..."""
        return hlo_table(self.frame.assign(n_done=self.frame["occurrences"]), n_ordinary)

    def units(self, trace: Trace) -> HloUnits:
        """The same as units, without instructions, as their programs did not travel."""
        frame = self.frame
        return HloUnits(
            modules=read_hlo_modules(trace, programs=()),
            is_device=(frame["device"] == "Device").to_numpy(np.bool_),
            program_id=frame["program_id"].to_numpy(np.int64),
            module=tuple(frame["module"]),
            name=tuple(frame["name"]),
            category=tuple(frame["category"]),
            instruction=np.full(len(frame), -1, np.int64),
            provenance=("",) * len(frame),
            expression=tuple(frame["expression"]),
            source=tuple(frame["source"]),
            flops=frame["flops"].to_numpy(np.float64),
            bytes_accessed=frame["bytes_accessed"].to_numpy(np.float64),
        )


def summarize_hlo(hlo_ops: HloOps, units: Int64) -> PackedFrame:
    """The rows of some units, with their times in whole picoseconds and their texts not longer than a reader needs."""
    frame = hlo_ops.frame.iloc[hlo_ops.unit_row[units]].reset_index(drop=True)
    return PackedFrame.of(
        frame[list(_TOLD)].assign(
            expression=pd.Series([_shortened(text) for text in frame["expression"].tolist()], dtype=object),
            occurrences=frame["occurrences"],
            total_ps=_ps(frame["total_time_us"]),
            self_ps=_ps(frame["total_self_time_us"]),
            flops=frame["flops"],
            bytes_accessed=frame["bytes_accessed"],
        )
    )


def _shortened(text: str) -> str:
    return text if len(text) <= MOST.expression else f"{text[: MOST.expression]}{CUT}"


def n_shortened(texts: Iterable[str]) -> int:
    """How many of the texts that travelled are cut."""
    return sum(len(text) > MOST.expression for text in texts)


def _ps(column: pd.Series[float]) -> Int64:
    times: Int64 = np.rint(column.to_numpy(np.float64) * PS_PER_US).astype(np.int64)
    return times


def merge_hlo(every: pd.DataFrame) -> MergedHlo:
    """Unite HLO ops of equal program, module, name and side; figures of one execution are averages."""
    sums = dict.fromkeys(("occurrences", "total_ps", "self_ps"), "sum")
    told = dict.fromkeys((name for name in _TOLD if name not in _HLO_KEY), "first")
    frame, code = united(every, _HLO_KEY, told | sums)
    frame, count = frame[[*_TOLD, *sums]], every["occurrences"].to_numpy(np.int64)
    for name in ("flops", "bytes_accessed"):
        frame[name] = _average(code, every[name].to_numpy(np.float64), count, len(frame))
    return MergedHlo(frame, code)


def _average(code: Int64, value: Float64, count: Int64, n: int) -> Float64:
    known = ~np.isnan(value)
    weight = np.bincount(code[known], weights=count[known], minlength=n)
    total = np.bincount(code[known], weights=value[known] * count[known], minlength=n)
    return np.where(weight > 0, total / np.maximum(weight, 1), np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class MergedOps:
    """The units of all hosts and what they stand for, numbered as those of one trace: ordinary ops, then HLO ops."""

    n_ordinary: int
    shares: OpShares
    is_input: Bool
    sums: OpSums
    """For each unit, of all hosts."""
    units: pd.DataFrame
    """One row per unit of a host: the host's number, `owner`, the unit, and its sums there."""
    kinds: pd.DataFrame
    """One row per unit and kind of step of a host in which it ran: `owner`, `kind`, `unit`, its own time and executions."""

    def all_units(self, hlo: HloUnits) -> Units:
        """The table of units: the ordinary ops of all hosts, then their HLO ops."""
        ops, n = self.shares, self.n_ordinary
        return Units(
            name=ops.name[:n] + hlo.name,
            type=ops.type[:n] + hlo.category,
            is_device=np.append(ops.is_device[:n], hlo.is_device),
            is_eager=np.append(ops.is_eager[:n], np.zeros(len(hlo), np.bool_)),
            hlo=hlo,
        )

    def of_hosts(self, numbers: Int64, owned: pd.DataFrame | None = None) -> UnitSums:
        """Sums host by host, over the whole capture or of some rows of `kinds`; `numbers` are the hosts of the owners."""
        rows = self.units if owned is None else owned
        own = rows.assign(host=numbers[rows[OWNER]])
        sums = own.groupby(["host", "unit"], as_index=False)[["count", "total_ps", "self_ps"]].sum()
        return UnitSums(*(sums[name].to_numpy() for name in sums))


def merge_ops(every: Mapping[str, pd.DataFrame], hlo: MergedHlo) -> MergedOps:
    """Unite ops of one side and name, and HLO ops as they are united in `hlo`; `every` is a `Stack`."""
    ops = every["ops"]
    is_ordinary = ops["is_ordinary"].to_numpy(np.bool_)
    order = np.argsort(~is_ordinary, kind="stable")  # ordinary ops of any host come first
    table, own = _united(ops.iloc[order])
    number = np.full(len(ops) + 1, -1, np.int64)
    number[order] = own
    n = int(number[:-1][is_ordinary].max(initial=-1)) + 1
    unit_of_hlo = np.append(n + hlo.row, -1)
    units = every["units"]
    op = units["op"].to_numpy()
    units = units.assign(unit=np.where(op >= 0, number[op], unit_of_hlo[units["hlo"]]))
    pairs, kinds = every["pairs"], every["kinds"]
    sums = units.groupby("unit")[[*SUMS, *UNIT_NS]].sum().reindex(np.arange(n + len(hlo.frame)), fill_value=0)
    return MergedOps(
        n_ordinary=n,
        shares=_shares(table, n, hlo, pairs.assign(unit=unit_of_hlo[pairs["hlo"]], op=number[pairs["op"]])),
        is_input=table["is_input"].to_numpy(np.bool_),
        sums=OpSums(
            is_device=np.append(table["is_device"].to_numpy(np.bool_)[:n], hlo.frame["device"] == "Device"),
            **{name: sums[name].to_numpy() for name in SUMS},
            unit_ns=sums[list(UNIT_NS)].to_numpy(),
        ),
        units=units,
        kinds=kinds.assign(unit=units["unit"].to_numpy()[kinds["unit"]]),
    )


def _united(ops: pd.DataFrame) -> tuple[pd.DataFrame, Int64]:
    """The table of framework ops in order of appearance, and the row of each op, described by the first host that ran it."""
    # As in one trace: any eager execution on a CPU makes an op eager, on a device the first one tells.
    ops = ops.assign(is_eager_on_host=ops["is_eager"] & ~ops["is_device"])
    ops["source"] = [
        (file, line) if file else "" for file, line in zip(ops["source_file"], ops["source_line"], strict=True)
    ]
    told = dict.fromkeys(("type", "is_eager", "source"), "first")
    table, own = united(ops, ["is_device", "name"], {**told, "is_eager_on_host": "any", "is_input": "all"})
    return table.assign(is_eager=table["is_eager"] | table["is_eager_on_host"]), own


def _shares(table: pd.DataFrame, n_ordinary: int, hlo: MergedHlo, pairs: pd.DataFrame) -> OpShares:
    """The table, with who stands for whom: of an HLO op that several hosts ran, what the first one tells."""
    source = [one or ("", -1) for one in table["source"]]
    pairs = pairs[pairs[OWNER] == pairs.groupby("unit")[OWNER].transform("min")].sort_values("unit", kind="stable")
    every, unknown = np.arange(n_ordinary), np.full(n_ordinary, np.nan)
    unit, op = np.append(every, pairs["unit"]), np.append(every, pairs["op"])
    ratio = np.append(np.ones(n_ordinary), pairs["ratio"])
    return OpShares(
        name=tuple(table["name"]),
        type=tuple(table["type"]),
        is_device=table["is_device"].to_numpy(np.bool_),
        is_eager=table["is_eager"].to_numpy(np.bool_),
        source_file=tuple(file for file, _ in source),
        source_line=np.array([line for _, line in source], np.int32),
        frame=np.full(len(table), -1, np.int32),
        frames=Frames(),
        unit=unit.astype(np.int32),
        op=op.astype(np.int32),
        ratio=ratio,
        dominant=dominant_ops(unit, op, ratio, n_ordinary + len(hlo.frame)),
        is_identity=hlo.frame.empty,
        flops=np.append(unknown, hlo.frame["flops"].to_numpy(np.float64)),
        bytes_accessed=np.append(unknown, hlo.frame["bytes_accessed"].to_numpy(np.float64)),
    )
