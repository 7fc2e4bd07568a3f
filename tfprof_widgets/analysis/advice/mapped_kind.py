"""The functions of an input and its iterators -> whether their results differ from epoch to epoch, and what of them "
"may be kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from ..base.iterator_names import base_name
from .input_stages import input_ops
from .mapped_function import DATA_GRAPH

if TYPE_CHECKING:
    from .run import Run

Kind = Literal["pure", "random", "stateful", "unknown"]
_RANDOM = re.compile(
    r"Random|Multinomial|ParameterizedTruncatedNormal|TruncatedNormal|SampleDistorted|NonDeterministic|Stateful(Uniform|"
    r"StandardNormal|TruncatedNormal|Random)|Rng"
)
_STATEFUL = re.compile(
    r"(Eager)?PyFunc|Assign|\w*Variable|VarHandle|StatefulPartitionedCall|(If|While|Case)\Z|Timestamp|"
    r"\w*Queue|\w*Lookup\w*(Insert|Import|Remove)"
)
"""Ops that call Python, read what changes, or call functions that may."""
_SAME_EACH_EPOCH = frozenset(
    (
        *(
            "Range",
            "TensorSlice",
            "Tensor",
            "FromTensor",
            "TFRecord",
            "TextLine",
            "FixedLengthRecord",
            "Zip",
            "Concatenate",
        ),
        *(
            "Map",
            "ParallelMap",
            "MapAndBatch",
            "ParseExample",
            "Batch",
            "ParallelBatch",
            "PaddedBatch",
            "Rebatch",
            "Unbatch",
        ),
        *("Prefetch", "Filter", "FlatMap", "Interleave", "Take", "FiniteTake", "Skip", "FiniteSkip", "Shard", "Window"),
        *("Options", "Root", "Model", "AssertCardinality"),
    )
)
"""What gives the same elements in the same order each time, of inputs that do."""


def kind_of_input(run: Run) -> Kind:
    """What functions of datasets do, by the ops that are noted of them and those that ran; of all datasets, as a trace does not
    say of which one a function is."""
    source_map = run.results.source_map
    if source_map is None:
        return "unknown"
    graphs = np.flatnonzero([DATA_GRAPH.match(name) is not None for name in source_map.functions["graph"]])
    noted = set(source_map.ops["type"][source_map.ops["graph"].isin(graphs)])
    kinds = noted | set(input_ops(run)[1])
    if "IteratorGetNext" in noted or any(map(_STATEFUL.match, kinds)):
        return "stateful"
    if any(map(_RANDOM.match, kinds)):
        return "random"
    return "pure" if noted else "unknown"


def names_of(run: Run, pipeline: pd.Series | None) -> list[str]:
    """The iterators of a pipeline, a consumer before what it consumes, without versions."""
    if pipeline is None:
        return []
    iterators = run.results.tf_data.iterators
    return [base_name(name) for name in iterators["name"][iterators["pipeline"] == pipeline["id"]].tolist()]


def has_cache(names: list[str]) -> bool:
    """Whether some iterators keep what they gave."""
    return any("Cache" in name for name in names)


def is_same_each_epoch(names: list[str]) -> bool:
    """Whether some iterators give the same elements in the same order in each epoch, all of them."""
    return set(names) <= _SAME_EACH_EPOCH
