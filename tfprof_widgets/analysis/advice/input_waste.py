"""What the input works in vain: results that are filtered or cut away, and files that are opened for few records."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..input.iterators import FILE_READERS
from ..input.usage import slowest_below
from ..names import base_name
from .computing import op_line
from .facts import RunFacts

if TYPE_CHECKING:
    from .run import Run

MAPS = frozenset(("Map", "ParallelMap", "MapAndBatch"))


def iterators_of(run: RunFacts, pipeline: pd.Series) -> pd.DataFrame:
    """Those of a pipeline, a consumer before what it consumes."""
    iterators = run.results.tf_data.iterators
    found: pd.DataFrame = iterators[iterators["pipeline"] == pipeline["id"]]
    return found


def kept_ratio(run: RunFacts) -> float:
    """The share that filters behind the pipeline's map let through of what they judged; 1 without one."""
    data = run.results.tf_data
    pipeline = data.bottleneck_pipeline
    if pipeline is None:
        return 1.0
    iterators = data.iterators
    of_pipeline = iterators["pipeline"] == pipeline["id"]
    for row in np.flatnonzero(of_pipeline & (iterators["name"].map(base_name) == "Filter")).tolist():  # a handful
        below = iterators["name"].iloc[slowest_below(iterators, row)]
        params = iterators["params"].iloc[row]
        passed, filtered = (params.get(key) for key in ("passed", "filtered"))
        if isinstance(passed, int) and isinstance(filtered, int) and any(base_name(one) in MAPS for one in below):
            return passed / max(passed + filtered, 1)
    return 1.0


_CUTS = re.compile(r"(Strided)?Slice|Resize\w+|CropAndResize\w*")
_ONLY_WHOLE = re.compile(r"Decode\w+|ReadFile|Parse\w+|PyFunc|EagerPyFunc")
"""Ops of which only the result can be cut."""
_OF_PARTS = re.compile(
    r"Adjust(Hue|Saturation)|RGBToHSV|HSVToRGB|ReverseV2|Cast|Add(V2)?|Sub|Mul|(Real)?Div|Neg|Abs|Maximum|Minimum|ClipByValue"
    r"|Pow|Square|Sqrt|Rsqrt|Exp|Log|Log1p|Tanh|Sigmoid|Floor|Round|Select(V2)?|(Greater|Less)(Equal)?"
)
"""Ops that make the same of a part as of the whole."""
LITTLE = 0.05
"""Of the work before a cut may need the whole element."""
CUT = 0.5
"""What keeps less of an element cuts it, and is too late behind so much of the work."""


@dataclass(frozen=True)
class LateCut:
    """An op of a mapped function that throws away most of what the ops before it computed."""

    words: str
    """`the crop (train.py:7)`."""
    kept: float
    """Of the numbers of an element."""
    work: float
    """Of the functions' work what is done before it, and could be done behind it."""


def late_cut(run: Run) -> LateCut | None:
    """The cut behind most of the work of mapped functions."""
    traced, shares = run.graph, run.results.op_shares
    is_own = run.results.op_scopes.is_input & (np.array(shares.type, np.str_) != "Dataset")
    own_us, row = np.where(is_own, run.results.op_sums.self_us, 0.0), traced.row.to_numpy(np.int64)
    movable, needs_all = (
        own_us * [bool(pattern.fullmatch(kind)) == is_so for kind in shares.type]
        for pattern, is_so in ((_OF_PARTS, True), (re.compile(f"{_OF_PARTS.pattern}|{_ONLY_WHOLE.pattern}"), False))
    )
    found = []
    for op in np.flatnonzero((own_us > 0) & (row >= 0)).tolist():  # the ops of mapped functions
        if _CUTS.fullmatch(shares.type[op]):
            read, made = ((*of(int(row[op])), None)[0] or (0,) for of in (traced.input_shapes, traced.output_shapes))
            kept = prod(made) / prod(read) if min(*read, *made) > 0 else 1.0
            before = np.isin(row, traced.before([int(row[op])])) & (np.arange(len(row)) != op)
            work = float(movable[before].sum() / own_us.sum())
            kind = "crop" if "Slice" in shares.type[op] else "resize"
            if kept <= CUT <= work and needs_all[before].sum() <= LITTLE * own_us.sum():
                found.append(LateCut(f"the {kind} ({op_line(run, op) or shares.name[op]})", kept, work))
    return max(found, key=lambda one: one.work * (1 - one.kept), default=None)


FEW_RECORDS = 2
"""A file: of more, opening it matters less."""
MANY_FILES = 20
_OPENS = re.compile(r"FlatMap|(Parallel)?Interleave(V\d)?")


def opens_many_files(run: Run) -> bool:
    """Whether the slowest pipeline opens a file for a record or two: a reader is called once more for each, to find its end."""
    data = run.results.tf_data
    if data.bottleneck_pipeline is None:
        return False
    own = iterators_of(run, data.bottleneck_pipeline).set_index("id")
    for _, reader in own[own["name"].map(base_name).isin(FILE_READERS)].iterrows():  # a handful
        n_calls = n_elements = int(reader["calls"])
        above = int(reader["parent_id"])
        while above in own.index and _OPENS.fullmatch(base_name(str(own["name"][above]))):
            n_elements, above = min(n_elements, int(own["calls"][above])), int(own["parent_id"][above])
        if n_calls - n_elements >= max(MANY_FILES, n_elements / FEW_RECORDS):
            return True
    return False
