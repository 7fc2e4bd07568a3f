"""The iterator that holds up an input pipeline -> what to change, in words.

Source: semantics 8.6 (the classes of iterators).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...trace.trace import StatValue
from ..base.iterator_names import base_name
from ..base.wording import plural
from .iterator_calls import FILE_READERS

GUIDE = "https://www.tensorflow.org/guide/data_performance"
COPIES_US = 20.0
"""Of work for each element of a batch: from this on it is copying, which parallel calls share; of 64 KiB, measured on two cores.
Of smaller elements parallel calls make batches no faster, and of small records slower (29 % measured)."""

_CACHE = " When the result fits in memory and nothing before it is random, put .cache() after it."
_PARALLEL = "num_parallel_calls=tf.data.AUTOTUNE"
_FILES = (
    "Reading the data is slow. Keep it in the same place as the host, and read several files at a time: interleave "
    f"over their names with {_PARALLEL}, which alternates their elements."
)
_MEMORY = "The elements are cut out of memory one by one. Batch before the steps that can work on whole batches."
_GENERATOR = (
    "from_generator runs Python code one element at a time, under the interpreter's lock. Read with a source of "
    "tf.data, or let the generator give only names and load in a parallel map."
)
_DEVICE = (
    "The device waits for its host pipeline to hand over the next element. Look at that pipeline; let it run ahead."
)
_INTERLEAVE = (
    f"interleave reads its inputs one after another. Read them in parallel ({_PARALLEL}; with a cycle_length of its "
    "own the order of elements stays)."
)
_FLAT_MAP = (
    "flat_map reads its inputs one after another. An interleave reads several in parallel; elements of several "
    "inputs then alternate, which is another order."
)
_PREFETCH = (
    "The training takes elements as fast as the prefetch buffer is filled. Let tf.data choose its size: "
    ".prefetch(tf.data.AUTOTUNE)."
)
_DATA_SERVICE = (
    "Fetching from the tf.data service is slow. Profile its workers (tf.profiler.experimental.client.trace); add "
    "workers when they are busy."
)
_REMOTE = "The remote source is slow. Profile the host it runs on (tf.profiler.experimental.client.trace)."
_BATCH = (
    "batch takes its elements one after another. Cut large elements down before they are batched; of small ones "
    "make batches earlier, so that the steps before work on whole batches."
)
_LARGE_BATCH = (
    "batch copies its elements, which are large, into a batch one after another. Make several batches in parallel "
    f"({_PARALLEL}; their order stays), and cut elements down before they are batched."
)
_PADDED_BATCH = (
    "padded_batch copies and pads its elements one after another and has no parallel form. Let batches be made "
    "ahead (.prefetch). Elements of like length put together (bucket_by_sequence_length) have less to pad; batches "
    "then have other elements."
)
_FILTER = (
    "filter judges one element after another and has no parallel form. Judge in a parallel map and let filter only "
    "read the answer."
)
_REBATCH = (
    "unbatch and batch take one element after another and have no parallel form. Where they only change the size of "
    "batches, .rebatch(batch_size) in place of both gives the same batches without taking them apart."
)
_UNBATCH = (
    "unbatch takes one element after another and has no parallel form. Let the steps behind it work on whole batches."
)

_BY_NAME = {
    "Generator": _GENERATOR,
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
    consumer: str = ""
    """That of the one that takes its elements."""
    has_cache: bool = False
    """Whether its pipeline has a cache: another one is never proposed."""
    element_us: float = 0.0
    """Of a batch: its work for each element; 0 where that is not known."""


HOST = Place()


def suggest(name: str, params: Mapping[str, StatValue], place: Place = HOST) -> str:
    """What to do about a bottleneck: why and what, one or two sentences.

    Args:
        name: the iterator's short name, such as `Map`.
        params: its stats, such as `parallelism`.
        place: where it stands in which pipeline.
    """
    if place.is_device:
        return _DEVICE
    base = base_name(name)
    if base in _BY_NAME:
        return _BY_NAME[base]
    if base in _BY_PARAMS:
        return _BY_PARAMS[base](params, place)
    return (
        f"{name} holds the pipeline up. See the guide on tf.data performance ({GUIDE}), and prefetch as the last step."
    )


def calls_at_a_time(name: str, params: Mapping[str, StatValue]) -> int:
    """Of a map that nobody made parallel how many calls of its function it makes at once; 0 of one that somebody did."""
    base, parallelism = base_name(name), params.get("parallelism")
    calls = parallelism if isinstance(parallelism, int) and parallelism > 0 else 0
    is_autotuned = str(params.get("autotune")).lower() == "true"
    if base == "Map":
        return 1
    # TensorFlow fuses a plain map with the batch after it; the stat `name` is then fused(MapDataset:1,BatchDatasetV2:2).
    if is_autotuned or base not in ("ParallelMap", "MapAndBatch", "ParseExample"):
        return 0
    return max(calls, 1) if "(MapDataset" in str(params.get("name", "")) or calls == 1 else 0


def _map(name: str, params: Mapping[str, StatValue], place: Place) -> str:
    n_calls, parallelism = calls_at_a_time(name, params), params.get("parallelism")
    if n_calls:
        parallel = [one for one in place.inputs if base_name(one) == "ParallelMap"]
        which = "The map after the parallel ones" if parallel else "map"
        calls = f"{n_calls} of its calls" if n_calls > 1 else "one of its calls"
        more = f"{which} runs {calls} at a time. Run more of them in parallel ({_PARALLEL})."
        return more + _cache(place)
    is_known = isinstance(parallelism, int) and parallelism > 0
    how = f"already makes {plural(int(parallelism), 'call')} in parallel" if is_known else "already works in parallel"  # type: ignore[arg-type]
    who = " as tf.data chose for this machine" if str(params.get("autotune")).lower() == "true" else ""
    return (
        f"The map {how}{who}: its function itself is the cost. Make it cheaper (whole batches at a time, smaller "
        "images, no tf.py_function), or do it once, before the training." + _cache(place)
    )


def _cache(place: Place) -> str:
    return "" if place.has_cache else _CACHE


def _prefetch(params: Mapping[str, StatValue], place: Place) -> str:
    # What only hands elements on, such as a repeat, is passed over.
    known = [k for k, name in enumerate(place.inputs) if base_name(name) in (*_BY_NAME, *_BY_PARAMS)]
    if str(params.get("autotune")).lower() != "true" or not known:
        return _PREFETCH
    at = known[0]
    name, consumer = place.inputs[at], place.inputs[at - 1] if at else ""
    return (
        f"The training takes elements as fast as {name} makes them, and tf.data tunes the prefetch buffer already: "
        f"what comes before it must become faster, {name} first. "
        + suggest(name, {}, Place(inputs=place.inputs[at + 1 :], consumer=consumer, has_cache=place.has_cache))
    )


def _batch(place: Place) -> str:
    if place.inputs and base_name(place.inputs[0]) == "Unbatch":
        return _REBATCH
    return _LARGE_BATCH if place.element_us >= COPIES_US else _BATCH


def _shuffle(params: Mapping[str, StatValue], place: Place) -> str:
    size = params.get("buffer_size")
    of = f" of {plural(size, 'element')}" if isinstance(size, int) else ""
    faster = f" A faster {place.inputs[0]}, from which it is filled, shortens the filling too." if place.inputs else ""
    kept = (
        ""
        if place.has_cache
        else " When the data fits in memory and nothing before it is random, put .cache() before it."
    )
    return (
        f"shuffle fetches until its buffer{of} is full before it gives the first element. Shuffle elements, names or "
        "indices before they are read and prepared; a smaller buffer is full sooner, but shuffles "
        f"less.{kept}{faster}"
    )


_BY_PARAMS: dict[str, Callable[[Mapping[str, StatValue], Place], str]] = {
    "Map": lambda params, place: _map("Map", params, place),
    "ParallelMap": lambda params, place: _map("ParallelMap", params, place),
    "MapAndBatch": lambda params, place: _map("MapAndBatch", params, place),
    "ParseExample": lambda params, place: _map("ParseExample", params, place),
    "Prefetch": _prefetch,
    "Batch": lambda _, place: _batch(place),
    "PaddedBatch": lambda _, __: _PADDED_BATCH,
    "Unbatch": lambda _, place: _REBATCH if base_name(place.consumer) == "Batch" else _UNBATCH,
    "Interleave": lambda _, place: _INTERLEAVE + _cache(place),
    "FlatMap": lambda _, place: _FLAT_MAP + _cache(place),
    "Filter": lambda _, place: _FILTER + _cache(place),
    "Shuffle": _shuffle,
    "ShuffleAndRepeat": _shuffle,
}
