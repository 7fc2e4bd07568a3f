"""The iterator that holds up an input pipeline -> what to change, in words and as a line of code.

Source: semantics 8.6 (the classes of iterators); the code lines are this project's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...trace.trace import StatValue
from ..base.iterator_names import base_name
from ..base.wording import plural
from .iterator_calls import FILE_READERS

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
_MAP_CODE = ".map(f, num_parallel_calls=tf.data.AUTOTUNE)"
_INTERLEAVE = Suggestion(
    f"interleave reads its inputs one after another. Read them in parallel. {_CACHE}",
    ".interleave(f, cycle_length=tf.data.AUTOTUNE, num_parallel_calls=tf.data.AUTOTUNE)",
)
_FLAT_MAP = Suggestion(
    f"flat_map reads its inputs one after another. An interleave does the same in parallel. {_CACHE}",
    ".interleave(f, num_parallel_calls=tf.data.AUTOTUNE)",
)
_PREFETCH = Suggestion(
    "The training takes elements as fast as the prefetch buffer is filled. Let tf.data choose its size.",
    ".prefetch(tf.data.AUTOTUNE)",
)
_DATA_SERVICE = Suggestion(
    "Fetching from the tf.data service is slow. Profile its workers; add workers when they are busy.",
    'tf.profiler.experimental.client.trace("grpc://worker:port", "logs", 2000); tfprof.load("logs")',
)
_REMOTE = Suggestion(
    "The remote source is slow. Profile the host it runs on.",
    'tf.profiler.experimental.client.trace("grpc://host:port", "logs", 2000); tfprof.load("logs")',
)
_BATCH = Suggestion(
    "batch copies its elements into a batch one after another. Make several batches in parallel, and cut elements "
    "down before they are batched.",
    ".batch({size}, num_parallel_calls=tf.data.AUTOTUNE)",
)
_PADDED_BATCH = Suggestion(
    "padded_batch copies and pads its elements one after another and has no parallel form. Put elements of like "
    "length together, so that there is less to pad (bucket_by_sequence_length), and let batches be made ahead.",
    ".padded_batch({size}).prefetch(tf.data.AUTOTUNE)",
)
_FILTER = Suggestion(
    "filter judges one element after another and has no parallel form. Judge in a parallel map and let filter only read "
    f"the answer, or run the pipeline over several shards of the input in parallel (interleave over .shard(n, i)). {_CACHE}",
    ".map(lambda *x: (x if len(x) > 1 else x[0], keep(*x)), num_parallel_calls=tf.data.AUTOTUNE)"
    ".filter(lambda _, kept: kept).map(lambda x, _: x)",
)
_UNBATCH = Suggestion(
    "unbatch takes one element after another and has no parallel form. Where only the size of batches is to change, rebatch "
    "does that without taking them apart, if they are of one shape; else work on whole batches.",
    ".rebatch(batch_size)  # in place of unbatch and batch",
)

_BY_NAME = {
    "Generator": _GENERATOR,
    "Interleave": _INTERLEAVE,
    "FlatMap": _FLAT_MAP,
    "Filter": _FILTER,
    "Unbatch": _UNBATCH,
    "DataService": _DATA_SERVICE,
    **dict.fromkeys(("TensorSlice", "FromTensor", "Tensor", "Range"), _MEMORY),
    **dict.fromkeys(FILE_READERS, _FILES),
    **dict.fromkeys(("LMDB", "Spanner", "TFColumn", "SleepwalkRemoteDataset", "StitchedTimelineDataset"), _FILES),
    **dict.fromkeys(("DateKeyDataset", "CapacitorProto", "ExternalDataset", "PearModel"), _FILES),
    "SyntheticDatasetOp": _FILES,
    **dict.fromkeys(("GuzzlerDataGuzzlerRemoteDataset", "ReverbDataset", "DatasetSampleGame"), _REMOTE),
    **dict.fromkeys(("Courier", "ReverbEpisodeDataset"), _REMOTE),
}


@dataclass(frozen=True)
class Place:
    """Where an iterator stands."""

    is_device: bool = False
    """Whether it belongs to a device's pipeline, which only hands on what a host pipeline made."""
    inputs: tuple[str, ...] = ()
    """Short names of the iterators it takes its elements from, the nearest first."""


HOST = Place()


def suggest(name: str, params: Mapping[str, StatValue], place: Place = HOST) -> Suggestion:
    """What to do about a bottleneck.

    Args:
        name: the iterator's short name, such as `Map`.
        params: its stats, such as `parallelism`.
        place: where it stands in which pipeline.
    """
    if place.is_device:
        return _DEVICE
    base = base_name(name)
    if base == "Map":
        return _map("one of its calls", place)
    if base in _BY_NAME:
        return _BY_NAME[base]
    if base in _BY_PARAMS:
        return _BY_PARAMS[base](params, place)
    return Suggestion(
        f"{name} holds the pipeline up. See the guide on tf.data performance ({GUIDE}), and prefetch as the last step.",
        ".prefetch(tf.data.AUTOTUNE)",
    )


def _map(calls: str, place: Place) -> Suggestion:
    parallel = [name for name in place.inputs if base_name(name) == "ParallelMap"]
    which = "The map after the parallel ones" if parallel else "map"
    return Suggestion(f"{which} runs {calls} at a time. Run more of them in parallel. {_CACHE}", _MAP_CODE)


def _parallel_map(params: Mapping[str, StatValue], place: Place) -> Suggestion:
    parallelism = params.get("parallelism")
    calls = parallelism if isinstance(parallelism, int) and parallelism > 0 else 0
    is_autotuned = str(params.get("autotune")).lower() == "true"
    # TensorFlow fuses a plain map with the batch after it; the stat `name` is then fused(MapDataset:1,BatchDatasetV2:2).
    if "(MapDataset" in str(params.get("name", "")) and not is_autotuned:
        return _map(f"{calls} of its calls" if calls > 1 else "one of its calls", place)
    if calls == 1 and not is_autotuned:
        return _map("one of its calls", place)
    how = f"already makes {plural(calls, 'call')} in parallel" if calls else "already works in parallel"
    who = " as tf.data chose for this machine" if is_autotuned else ""
    return Suggestion(
        f"The map {how}{who}: its function itself is the cost. Make it cheaper (whole batches at a time, smaller images, "
        "no tf.py_function), or do it once: cache the result, or preprocess offline.",
        ".batch(batch_size).map(f_on_batches, num_parallel_calls=tf.data.AUTOTUNE).cache()",
    )


def _prefetch(params: Mapping[str, StatValue], place: Place) -> Suggestion:
    # What only hands elements on, such as a repeat, is passed over.
    known = [k for k, name in enumerate(place.inputs) if base_name(name) in ("Map", *_BY_NAME, *_BY_PARAMS)]
    if str(params.get("autotune")).lower() != "true" or not known:
        return _PREFETCH
    name, before = place.inputs[known[0]], place.inputs[known[0] + 1 :]
    return Suggestion(
        f"The training takes elements as fast as {name} makes them, and tf.data tunes the prefetch buffer already: what "
        f"comes before it must become faster, {name} first.",
        suggest(name, {}, Place(inputs=before)).code,
    )


def _sized(params: Mapping[str, StatValue], advice: Suggestion) -> Suggestion:
    """The same with the size of the batch in its code."""
    size = params.get("batch_size")
    return Suggestion(advice.text, advice.code.format(size=size if isinstance(size, int) else "batch_size"))


def _shuffle(params: Mapping[str, StatValue], place: Place) -> Suggestion:
    size = params.get("buffer_size")
    smaller, of = (max(size // 10, 1), f" of {plural(size, 'element')}") if isinstance(size, int) else ("smaller", "")
    faster = f" A faster {place.inputs[0]}, from which it is filled, shortens the filling too." if place.inputs else ""
    return Suggestion(
        f"shuffle fetches until its buffer{of} is full before it gives the first element. Shuffle elements, names or indices "
        "before they are read and prepared, or use a smaller buffer; when the data fits in memory, .cache() "
        f"before it makes every epoch but the first start at once.{faster}",
        f".shuffle({smaller})",
    )


_BY_PARAMS: dict[str, Callable[[Mapping[str, StatValue], Place], Suggestion]] = {
    "ParallelMap": _parallel_map,
    "MapAndBatch": _parallel_map,
    "ParseExample": _parallel_map,
    "Prefetch": _prefetch,
    "Batch": lambda params, _: _sized(params, _BATCH),
    "PaddedBatch": lambda params, _: _sized(params, _PADDED_BATCH),
    "Shuffle": _shuffle,
    "ShuffleAndRepeat": _shuffle,
}
