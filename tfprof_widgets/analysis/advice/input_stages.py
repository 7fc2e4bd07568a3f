"""What can be slow in an input -> why, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from ...trace.trace import StatValue
from ..common import US_PER_MS
from ..input.iterators import FILE_READERS
from ..input.usage import chain_below, is_autotuned, slowest_inputs
from ..names import base_name

COPIES_US = 20.0
"""Work per element of a batch that is copying, shared by parallel calls (64 KiB on two cores), which slow smaller records."""
AUTOTUNE = "tf.data.AUTOTUNE"
PARALLEL = f"num_parallel_calls={AUTOTUNE}"
REBATCH = (
    "unbatch and batch take one element after another and have no parallel form. Where they only change the size of "
    "batches, .rebatch(batch_size) in place of both gives the same batches without taking them apart."
)


class Stage(NamedTuple):
    """What can be slow in an input."""

    headline: str
    """What it asks for."""
    why: str
    """Why it is slow."""
    words: str = ""
    """What to do, also to `{function}`, and at which `{place}`."""


STAGES = {
    "slow_read": Stage(
        "Read the data faster",
        "reading the data is slow",
        "Keep the files near to the machine, and read several files at a time: interleave over their names with "
        f"{PARALLEL}. Elements of several files then alternate, which is another order.",
    ),
    "slow_map": Stage(
        "Make the map function cheaper",
        "the mapped function is the cost",
        "Make {function} cheaper: smaller images, whole batches at a time, or done once before the training.",
    ),
    "no_prefetch": Stage(
        "Prefetch the input",
        "no batch is prepared while the model computes",
        f"Add .prefetch({AUTOTUNE}) as the last step of the pipeline: a batch is prepared while the model computes.",
    ),
    "no_parallel_map": Stage(
        "Map the input in parallel",
        "the map makes one element after another",
        f"Let {{function}} run several times at once: map(..., {PARALLEL}). The order of elements stays.",
    ),
    "sequential_stage": Stage("Run the input's stages in parallel", "the stage works on one element after another"),
    "generator": Stage(
        "Replace the Python generator",
        "Python makes one element after another",
        "Let the generator{place} give only names or numbers, and load their elements by tf.numpy_function in a map with "
        f"{PARALLEL}; or read with a source of tf.data.",
    ),
    "of_device": Stage(
        "Let the host's pipeline run ahead",
        "it hands on what a pipeline of a host makes",
        f"Let that pipeline run ahead of the training, .prefetch({AUTOTUNE}) as its last step; a capture of its host shows what "
        "holds it up.",
    ),
    "python_map": Stage(
        "Take Python out of the map function",
        "the mapped function runs in Python, which lets one call run at a time",
        "Write {function} in ops of TensorFlow: Python runs one call at a time, however many are made in parallel.",
    ),
    "element_map": Stage(
        "Map whole batches",
        "calling the mapped function for each element costs more than what it computes",
        "Batch first, and map whole batches: {function} as a function of a batch, such as tf.io.parse_example in place "
        "of tf.io.parse_single_example.",
    ),
    "filter_after": Stage(
        "Filter before the map",
        "a filter throws away most of what the map prepares",
        "{thrown} of what {function} prepares is thrown away: where the filter can judge by what is there before the "
        "map, put it there.",
    ),
    "cut_after": Stage(
        "Crop or shrink first",
        "most of what the mapped function computes is cut away in it",
        "Put {cut} before the work of {function}: {thrown} of what that makes is thrown away. Colours, flips and scales "
        "are the same of a part as of the whole.",
    ),
    "few_threads": Stage(
        "Give the input's stages more threads",
        "an option of the dataset leaves one thread for all of it",
        "Leave private_threadpool_size = 1 out of the dataset's options; 0 is one thread for each core.",
    ),
}
_WORKS_ALONE = {
    "DataService": "Fetching from the tf.data service is slow. Profile its workers "
    "(tf.profiler.experimental.client.trace); add workers when they are busy.",
    **dict.fromkeys(
        ("TensorSlice", "FromTensor", "Tensor", "Range"),
        "The elements are cut out of memory one by one. Batch before the steps that can work on whole batches.",
    ),
    "Interleave": f"interleave reads its inputs one after another. Read them in parallel ({PARALLEL}; with a "
    "cycle_length of its own the order of elements stays).",
    "FlatMap": "flat_map reads its inputs one after another. An interleave reads several in parallel; elements of "
    "several inputs then alternate, which is another order.",
    "Batch": "batch takes its elements one after another. Cut large elements down before they are batched; of small "
    "ones make batches earlier, so that the steps before work on whole batches.",
    "PaddedBatch": "padded_batch copies and pads its elements one after another and has no parallel form. Let batches "
    "be made ahead (.prefetch). Elements of like length put together (bucket_by_sequence_length) have less to pad; "
    "batches then have other elements.",
    "Filter": "filter judges one element after another and has no parallel form. Judge in a parallel map and let "
    "filter only read the answer.",
    "Unbatch": "unbatch takes one element after another and has no parallel form. Let the steps behind it work on "
    "whole batches.",
    **dict.fromkeys(
        ("Shuffle", "ShuffleAndRepeat"),
        "shuffle fetches until its buffer is full before it gives the first element. Shuffle elements, names or indices "
        "before they are read and prepared; a smaller buffer is full sooner, but shuffles less.",
    ),
}
"""What to do about stages that work on one element after another."""
_LARGE_BATCH = (
    "batch copies its elements, which are large, into a batch one after another. Make several batches in parallel "
    f"({PARALLEL}; their order stays), and cut elements down before they are batched."
)
_MAPS = ("Map", "ParallelMap", "MapAndBatch", "ParseExample")
_BATCHES = ("Batch", "ParallelBatch")
_HANDS_ON = frozenset(
    ("Prefetch", "Root", "Model", "Repeat", "ForeverRepeat", "FiniteRepeat", "Take", "FiniteTake", "Options")
)


def stage_of(name: str, params: Mapping[str, StatValue]) -> str:
    """What of `STAGES` an iterator is by its name and settings."""
    base = base_name(name)
    if base in _MAPS:
        # TensorFlow fuses a plain map with the batch after it; the stat `name` is then fused(MapDataset:1,BatchDatasetV2:2).
        is_alone = "(MapDataset" in str(params.get("name", "")) or params.get("parallelism") == 1
        return "no_parallel_map" if base == "Map" or (is_alone and not is_autotuned(params)) else "slow_map"
    return "generator" if base == "Generator" else "slow_read" if base in FILE_READERS else "sequential_stage"


def working(iterators: pd.DataFrame, row: int) -> int:
    """The row of an iterator itself; where it only hands on, of the first below it that does something."""
    names, rows = iterators["name"].tolist(), [row, *chain_below(slowest_inputs(iterators), row)]
    return next((one for one in rows if base_name(names[one]) not in _HANDS_ON), rows[-1])


def sequential_words(iterators: pd.DataFrame, row: int) -> str:
    """What to do about an iterator that works on one element after another."""
    one, near = iterators.iloc[row], (row, int(slowest_inputs(iterators)[row]), int(iterators["parent_id"].iloc[row]))
    base, source, consumer = (base_name(str(iterators["name"].iloc[at])) if at >= 0 else "" for at in near)
    if (base in _BATCHES and source == "Unbatch") or (base == "Unbatch" and consumer in _BATCHES):
        return REBATCH
    size = one["params"].get("batch_size")
    n_elements = one["calls"] * size if isinstance(size, int) else 0
    if base == "Batch" and n_elements and US_PER_MS * one["self_time_ms"] >= COPIES_US * n_elements:
        return _LARGE_BATCH
    return _WORKS_ALONE.get(base, f"{one['name']} holds the pipeline up: {STAGES['no_prefetch'].words}")
