"""What is known of two runs' programs -> what differs between them, in words with figures: model, batch, numbers, compiler.

Only what both runs know is compared, so that what one of them did not note is no difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ...trace.trace import Bool
from ..advice.run import Run
from ..base.wording import number, plural
from ..facts.facts import Facts
from ..graph.op_graph import compute_variables
from .name_pairs import Path, pair_names
from .op_sums import OpSums
from .samples import batches_per_step
from .spread import STEADY

_MOST_NAMED = 2
_PRODUCTS = r"(?:_Mkl|_Fused|_)*(?:Native)?(?:Fused)?(?:Batch)?(?:MatMul|Conv2D|Conv3D|DepthwiseConv2d|Einsum)"
"""Types of ops whose numbers are the ones that a model computes in begin so."""
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_FEWEST_MORE, _LEAST_MORE = 0.9, 0.1
"""Executions a step, and a part of them, that one program has more than the other: less is steps that were cut."""


def program_changes(a: Facts, b: Facts, ops: tuple[OpSums, OpSums]) -> tuple[str, ...]:
    """What differs, the most telling first, such as `520,362 parameters, 173,930 in a (...)`; empty where nothing is known to."""
    runs = Run(a), Run(b)
    compiled = [run.compiles_functions or run.is_compiled for run in runs]
    found = [*_variables(*runs), *_layers(*runs), *_batches(a, b), *_numbers(*runs)]
    if compiled[0] != compiled[1]:
        found.append("XLA compiles it, not so in a" if compiled[1] else "XLA does not compile it, but does in a")
    elif not (compiled[0] or found):  # what XLA fuses has no executions, and what was found explains other ops
        found += _ops(a, b, ops)
    return tuple(found)


def _variables(a: Run, b: Run) -> Iterator[str]:
    """How many numbers the weights of what ran hold, and which have another shape or type."""
    first, second = _weights(a), _weights(b)
    if first.empty or second.empty:
        return
    n_a, n_b = int(first["n_params"].sum()), int(second["n_params"].sum())
    pairs = pair_names(_paths(first), _paths(second), first["n_params"].to_numpy(), second["n_params"].to_numpy())
    changed = [
        (str(second["name"].iloc[j]), first[what].iloc[i], second[what].iloc[j])
        for what in ("shape", "dtype")
        for i, j in enumerate(pairs.tolist())
        if j >= 0 and first[what].iloc[i] != second[what].iloc[j]
    ]
    n_alone = int((pairs < 0).sum()) + len(second) - int((pairs >= 0).sum())
    if n_a == n_b and not changed:  # what has other names only is the same model
        return
    head = f"{n_b:,} parameters, {n_a:,} in a" if n_a != n_b else f"of {n_b:,} parameters, as many as in a, some differ"
    named = [f"{name} is {_said(now)}, was {_said(before)}" for name, before, now in changed[:_MOST_NAMED]]
    more = len(changed) - len(named)
    named += [f"and {more} more"] if more else []
    named += [f"{plural(n_alone, 'variable')} of one model only"] if n_alone else []
    yield f"{head} ({', '.join(named)})" if named else head


def _said(value: object) -> str:
    return "unknown" if value in (None, "") else str(value)


def _weights(run: Run) -> pd.DataFrame:
    """The variables that ops which ran read; where no graph tells, those of layers that ran. A name that two live models
    have stands for none."""
    frame, source_map = compute_variables(run.results), run.results.source_map
    if source_map is None or frame.empty:
        return frame.iloc[:0]
    traced = run.traced_ops
    details = source_map.details
    ran: list[int] = [] if traced is None else traced.row[traced.row >= 0].unique().tolist()
    read = details.loc[details["op"].isin(ran) & (details["variable"] >= 0), "variable"].unique()
    if len(read):
        frame = frame.iloc[np.sort(read)]
    else:
        entries = run.results.layers.entries
        frame = frame[frame["layer"].isin(entries.loc[entries["kind"] == "layer", "layer"])]
    return frame[(frame["n_params"] > 0) & ~frame["name"].duplicated(keep=False)]


def _paths(frame: pd.DataFrame) -> list[Path]:
    return [tuple(name.split("/")) for name in frame["name"]]


def _layers(a: Run, b: Run) -> Iterator[str]:
    """Layers that ran in one run, and that the other did not even have."""
    maps = [run.results.source_map for run in (a, b)]
    noted = [[] if one is None else one.layers["layer"].unique().tolist() for one in maps]
    if not all(noted):
        return
    for run, own, others, word in ((b, noted[1], noted[0], "new"), (a, noted[0], noted[1], "gone")):
        entries = run.results.layers.entries
        ran = entries["layer"][(entries["kind"] == "layer") & entries["layer"].isin(own)].unique().tolist()
        paths, there = ([tuple(name.split("/")) for name in names] for names in (ran, others))
        is_there = pair_names(paths, there, np.zeros(len(paths)), np.zeros(len(there))) >= 0
        names = [name for name, known in zip(ran, is_there.tolist(), strict=True) if not known]
        if names:
            yield f"{_named(names)} {'is' if len(names) == 1 else 'are'} {word}"


def _batches(a: Facts, b: Facts) -> Iterator[str]:
    (size_a, n_a), (size_b, n_b) = batches_per_step(a), batches_per_step(b)
    if math.isfinite(size_a) and math.isfinite(size_b) and size_a != size_b:
        yield f"batches of {size_b:,.0f} samples, of {size_a:,.0f} in a"
    if math.isfinite(n_a) and math.isfinite(n_b) and n_a != n_b:
        yield f"a step takes {number(n_b)} batches, in a {number(n_a)}"


def _numbers(a: Run, b: Run) -> Iterator[str]:
    """What type of numbers most products of matrices and convolutions are of."""
    kinds = []
    for run in (a, b):
        traced = run.traced_ops
        if traced is None:
            return
        rows = traced.row[(traced.row >= 0).to_numpy()].unique()
        rows = rows[traced.type.iloc[rows].str.match(_PRODUCTS).to_numpy(np.bool_)]
        dtypes = traced.dtype.reindex(rows).dropna()
        kinds.append(dtypes[dtypes.isin(_FLOATS)].mode())
    if all(len(kind) == 1 for kind in kinds) and kinds[0].iloc[0] != kinds[1].iloc[0]:
        yield f"it computes in {kinds[1].iloc[0]}, in a in {kinds[0].iloc[0]}"


def _ops(a: Facts, b: Facts, ops: tuple[OpSums, OpSums]) -> Iterator[str]:
    """Types of ops that steps of one run execute more often."""
    first, second = (_executions(one, sums) for one, sums in zip((a, b), ops, strict=True))
    if first.empty or second.empty:
        return
    both = pd.DataFrame({"a": first, "b": second}).fillna(0.0)
    both = both.assign(more=(both["b"] - both["a"]).abs(), most=both.max(axis=1))
    both = both[(both["more"] >= _FEWEST_MORE) & (both["more"] >= _LEAST_MORE * both["most"])]
    both = both.sort_values("more", ascending=False, kind="stable")
    rows = zip(both.index.tolist(), both["a"].tolist(), both["b"].tolist(), strict=True)
    named = [f"{kind} runs {number(n_b)} times a step, in a {number(n_a)} times" for kind, n_a, n_b in rows]
    if named:
        yield ", ".join(named[:_MOST_NAMED]) + (
            f", and {len(named) - _MOST_NAMED} more types of ops" if named[2:] else ""
        )


def _executions(facts: Facts, sums: OpSums) -> pd.Series:
    """How often a step runs ops of each type, of those in (almost) every step and outside of the input."""
    steady: Bool = (sums.seen.mean(axis=1) >= STEADY) & ~np.asarray(facts.input_ops)
    types = pd.Series(np.array(facts.op_shares.type, np.object_)[steady], dtype=object)
    return pd.Series(sums.count[steady]).groupby(types).sum()


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return " and ".join(names[:_MOST_NAMED]) + (f" and {more} more layers" if more > 0 else "")
