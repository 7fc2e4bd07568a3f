"""The iterator that holds up an input pipeline -> what to change, in words and as a line of code.

suggest(name, params) -> Suggestion

Source: semantics 8.6 (the classes of iterators); the code lines are this project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..store.trace import StatValue
from .iterator_calls import base_name

GUIDE = "https://www.tensorflow.org/guide/data_performance"


@dataclass(frozen=True)
class Suggestion:
    """One thing to change in a tf.data pipeline."""

    text: str
    """Why and what, one or two sentences; empty when there is nothing to change."""
    code: str
    """What to write, ready to paste; empty when there is nothing to change."""


NOTHING = Suggestion("", "")

_CACHE = "When the result fits in memory and nothing before it is random, put .cache() after it."
_FILES = Suggestion(
    "Reading the data is slow. Keep it in the same place as the host, and read several files at a time.",
    "tf.data.Dataset.list_files(pattern).interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)",
)
_MEMORY = Suggestion(
    "The elements are cut out of memory one by one. Batch before the steps that can work on whole batches.",
    "tf.data.Dataset.from_tensor_slices(data).batch(batch_size).map(f_on_batches, num_parallel_calls=tf.data.AUTOTUNE)",
)
_GENERATOR = Suggestion(
    "from_generator runs Python code one element at a time, under the interpreter's lock. Read with a source of "
    "tf.data, or let the generator give only names and load in a parallel map.",
    "dataset_of_names.map(load, num_parallel_calls=tf.data.AUTOTUNE)",
)
_DEVICE = Suggestion(
    "The device waits for its host pipeline to hand over the next element. Look at that pipeline; let it run ahead.",
    ".prefetch(tf.data.AUTOTUNE)",
)
_MAP = Suggestion(
    f"map runs its function on one element at a time. Run several calls in parallel. {_CACHE}",
    ".map(f, num_parallel_calls=tf.data.AUTOTUNE)",
)
_INTERLEAVE = Suggestion(
    f"interleave reads its inputs one after another. Read them in parallel. {_CACHE}",
    ".interleave(f, cycle_length=tf.data.AUTOTUNE, num_parallel_calls=tf.data.AUTOTUNE)",
)
_FLAT_MAP = Suggestion(
    f"flat_map reads its inputs one after another. An interleave does the same in parallel. {_CACHE}",
    ".interleave(f, num_parallel_calls=tf.data.AUTOTUNE)",
)
_BATCH = Suggestion(
    "batch copies its elements one after another. Make several batches in parallel.",
    ".batch(batch_size, num_parallel_calls=tf.data.AUTOTUNE)",
)
_SHUFFLE = Suggestion(
    "shuffle fetches until its buffer is full before it gives the first element. Shuffle file names or indices instead "
    "of elements, or use a smaller buffer; cache what comes before it when it fits in memory.",
    ".cache().shuffle(buffer_size)",
)
_PREFETCH = Suggestion(
    "The training takes elements as fast as the prefetch buffer is filled. Let tf.data choose its size.",
    ".prefetch(tf.data.AUTOTUNE)",
)
_ROOT = Suggestion(
    "The time goes into handing elements over, not into a dataset. Fetch larger batches, and prefetch last.",
    ".batch(larger_size).prefetch(tf.data.AUTOTUNE)",
)
_DATA_SERVICE = Suggestion(
    "Fetching from the tf.data service is slow. Profile its workers; add workers when they are busy.",
    'tf.profiler.experimental.client.trace("grpc://worker:port", "logs", 2000); tfprof.load("logs")',
)
_REMOTE = Suggestion(
    "The remote source is slow. Profile the host it runs on.",
    'tf.profiler.experimental.client.trace("grpc://host:port", "logs", 2000); tfprof.load("logs")',
)
_SHARDS = (
    "tf.data.Dataset.range(n).interleave(lambda i: make_dataset().shard(n, i), num_parallel_calls=tf.data.AUTOTUNE)"
)

_BY_NAME = {
    "Generator": _GENERATOR,
    "Map": _MAP,
    "Interleave": _INTERLEAVE,
    "FlatMap": _FLAT_MAP,
    "Batch": _BATCH,
    "PaddedBatch": _BATCH,
    "Shuffle": _SHUFFLE,
    "Prefetch": _PREFETCH,
    "Root": _ROOT,
    "Model": _ROOT,
    "DataService": _DATA_SERVICE,
    **dict.fromkeys(("TensorSlice", "FromTensor", "Tensor", "Range"), _MEMORY),
    **dict.fromkeys(("TFRecord", "TextLine", "FixedLengthRecord", "SSTable", "RecordIO", "ArrayRecord"), _FILES),
    **dict.fromkeys(("LMDB", "Spanner", "TFColumn", "SleepwalkRemoteDataset", "StitchedTimelineDataset"), _FILES),
    **dict.fromkeys(("DateKeyDataset", "CapacitorProto", "ExternalDataset", "PearModel"), _FILES),
    "SyntheticDatasetOp": _FILES,
    **dict.fromkeys(("GuzzlerDataGuzzlerRemoteDataset", "ReverbDataset", "DatasetSampleGame"), _REMOTE),
    **dict.fromkeys(("Courier", "ReverbEpisodeDataset"), _REMOTE),
}


def suggest(name: str, params: Mapping[str, StatValue], *, is_device: bool = False) -> Suggestion:
    """What to do about a bottleneck.

    Args:
        name: the iterator's short name, such as `Map`.
        params: its stats, such as `parallelism`.
        is_device: whether it belongs to a device's pipeline, which only hands on what a host pipeline made.
    """
    if is_device:
        return _DEVICE
    base = base_name(name)
    if base in _BY_NAME:
        return _BY_NAME[base]
    if base in ("Filter", "Unbatch"):
        return Suggestion(
            f"{base.lower()} takes one element after another and has no parallel form. Run the pipeline over several "
            f"shards of the input in parallel. {_CACHE}",
            _SHARDS,
        )
    if base in ("ParallelMap", "MapAndBatch", "ParseExample"):
        return _parallel_map(params)
    return Suggestion(
        f"{name} holds the pipeline up. See the guide on tf.data performance ({GUIDE}), and prefetch as the last step.",
        ".prefetch(tf.data.AUTOTUNE)",
    )


def _parallel_map(params: Mapping[str, StatValue]) -> Suggestion:
    parallelism = params.get("parallelism")
    calls = parallelism if isinstance(parallelism, int) and parallelism > 0 else 0
    # TensorFlow fuses a plain map with the batch after it; the stat `name` is then fused(MapDataset:1,BatchDatasetV2:2).
    if "(MapDataset" in str(params.get("name", "")) or calls == 1:
        runs = f"{calls} of its calls" if calls > 1 else "one of its calls"
        return Suggestion(f"map runs {runs} at a time. Run more in parallel. {_CACHE}", _MAP.code)
    how = f"already makes {calls} calls in parallel" if calls else "already works in parallel"
    return Suggestion(
        f"The map {how}: its function itself is the cost. Make it cheaper (whole batches at a time, smaller images, no "
        "tf.py_function), or do it once: cache the result, or preprocess offline.",
        ".batch(batch_size).map(f_on_batches, num_parallel_calls=tf.data.AUTOTUNE).cache()",
    )
