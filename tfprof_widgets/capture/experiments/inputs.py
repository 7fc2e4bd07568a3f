"""inputs: what the user trains on -> batches that start anew for every run, their sizes, and one batch to feed again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

_MAX_SIZES = 4
"""So many batches of different sizes are run before the measurement, where each size is compiled on its own."""
_SURVEY_RATIO = 0.25
"""Share of the time bound that looking at the batches may take."""

AS_WITH_FIT = "Arrays were cut into shuffled batches of 32, as model.fit does unless told otherwise."
NOT_COPIED = (
    "The data set could not be copied, so its shuffling has moved on: the next epoch gets another order than before."
)


class Batches:
    """A data set that yields batches without end, the same ones to every iterator made of it.

    Args:
        data: a `tf.data.Dataset`, a `keras.utils.PyDataset`, a tuple `(x, y)` or `(x, y, sample_weight)` of arrays, one
            array or a dict of arrays, or a function without arguments that returns one of these.
        where: what the caller calls it, for messages.

    Raises:
        TypeError: something that can be read only once, or no data set at all.
    """

    def __init__(self, data: Any, *, where: str = "ds") -> None:
        import tensorflow as tf

        if callable(data) and not isinstance(data, tf.data.Dataset) and not hasattr(data, "__getitem__"):
            data, where = data(), f"{where}()"
        self.notices: list[str] = []
        self._enqueuer: Any = None
        self.dataset = self._as_dataset(data, where)
        self.sizes: list[int] = []
        """Samples of each batch seen by `survey`."""
        self.is_whole = False
        """Whether those are all batches there are."""
        self.examples: dict[int, Any] = {}
        """One batch of each size, in the order seen."""

    def _as_dataset(self, data: Any, where: str) -> Any:
        import tensorflow as tf

        if isinstance(data, tf.data.Dataset):
            return self._with_own_order(data)
        if isinstance(data, (tf.distribute.DistributedDataset, tf.distribute.DistributedIterator)):
            raise TypeError(f"{where} is distributed already: give the tf.data.Dataset that it was made of.")
        if hasattr(data, "__next__"):
            raise TypeError(
                f"{where} is a {type(data).__name__}, which can be read only once, and an experiment reads it several times: "
                "give tf.data.Dataset.from_generator(function, output_signature=...), or a keras.utils.PyDataset."
            )
        return self._from_keras(data, where)

    def _from_keras(self, data: Any, where: str) -> Any:
        """The data set that `model.fit` would make of it."""
        import keras
        import tensorflow as tf
        from keras.src.backend.tensorflow.trainer import TFEpochIterator

        is_sequence = isinstance(data, keras.utils.PyDataset)
        is_arrays = isinstance(data, (tuple, list, dict)) or (hasattr(data, "dtype") and hasattr(data, "shape"))
        x, y, weight = (
            (*data, None, None)[:3] if isinstance(data, tuple) and 1 <= len(data) <= 3 else (data, None, None)
        )
        try:
            adapter = TFEpochIterator(
                x=x,
                y=y,
                sample_weight=weight,
                # Keras warns when told to shuffle what has an order of its own.
                shuffle=is_arrays or (is_sequence and data.num_batches is not None),
                distribute_strategy=tf.distribute.get_strategy(),
            ).data_adapter
            dataset = adapter.get_tf_dataset()
        except (ValueError, TypeError, AttributeError, NotImplementedError) as error:
            raise TypeError(
                f"{where} is a {type(data).__name__}, of which Keras makes no batches ({error}): give a tf.data.Dataset, a "
                "keras.utils.PyDataset or a tuple (x, y) of arrays."
            ) from error
        self._enqueuer = getattr(adapter, "enqueuer", None)
        if is_arrays:
            self.notices.append(AS_WITH_FIT)
        return dataset

    def _with_own_order(self, dataset: Any) -> Any:
        """A copy where the data set shuffles: every iterator of it moves its order on, and the user's must stay."""
        if not _shuffles(dataset):
            return dataset
        try:
            import tensorflow as tf

            serialized = dataset._as_serialized_graph(
                external_state_policy=tf.data.experimental.ExternalStatePolicy.IGNORE
            )
            graph = tf.compat.v1.GraphDef.FromString(serialized.numpy())
            _give_own_seeds(graph)
            copy = viewed(tf.raw_ops.DatasetFromGraph(graph_def=graph.SerializeToString()), dataset.element_spec)
            return copy.with_options(dataset.options())
        except Exception:  # private parts of TensorFlow, and data of more than 2 GiB: it works without, and says so
            self.notices.append(NOT_COPIED)
            return dataset

    def survey(self, n_batches: int, max_seconds: float) -> None:
        """Look at the first batches: how many samples each has, and whether more follow.

        Where the type of the elements tells the batch size, one is enough.

        Raises:
            ValueError: there is no batch.
        """
        is_told = _told_size(self.dataset.element_spec) is not None
        stop = time.perf_counter() + max_seconds * _SURVEY_RATIO
        self.is_whole = True
        iterator = iter(self.dataset)
        try:
            for batch in iterator:
                size = size_of(batch)
                self.sizes.append(size)
                if len(self.examples) < _MAX_SIZES:
                    self.examples.setdefault(size, batch)
                if is_told or len(self.sizes) >= n_batches or time.perf_counter() > stop:
                    self.is_whole = False
                    break
        finally:
            del iterator
            self.stop()
        if not self.sizes:
            raise ValueError("The data set is empty: there is no batch to measure with.")

    @property
    def n_batches(self) -> int | None:
        """How many there are before they repeat, as far as is known."""
        if self.is_whole:
            return len(self.sizes)
        known = int(self.dataset.cardinality())
        return known if known >= 0 else None

    def n_samples(self, first: int, n_steps: int) -> int:
        """Samples in the batches from number `first` on; batches that nobody looked at count as the average one."""
        sizes = self.sizes
        if self.is_whole:
            return sum(sizes[i % len(sizes)] for i in range(first, first + n_steps))
        seen = sizes[first : first + n_steps]
        return round(sum(seen) + (n_steps - len(seen)) * sum(sizes) / len(sizes))

    def again_and_again(self) -> Batches:
        """The first batch in memory, as batches of the same type without end."""
        import tensorflow as tf

        batch = next(iter(self.examples.values()))
        same = tf.data.Dataset.from_tensors(batch).repeat()
        with contextlib.suppress(Exception):  # as a private part of TensorFlow; with fixed shapes it works too
            # The type of the real elements: a model traced for fixed shapes may be faster than the user's ever is.
            same = viewed(same._variant_tensor, self.dataset.element_spec)
        made = Batches(same)
        made.sizes, made.examples = self.sizes[:1], {self.sizes[0]: batch}
        return made

    def together(self, n: int) -> Batches:
        """Batches of the samples of `n` of these, without end and all of one size."""
        made = Batches(self.dataset.repeat().rebatch(n * self.sizes[0], drop_remainder=True))
        made._enqueuer = self._enqueuer
        return made

    def open(self, distribute: Callable[[Any], Any] | None = None) -> Any:
        """A new iterator, from the first batch on."""
        self.stop()
        dataset = self.dataset.repeat()
        return iter(dataset if distribute is None else distribute(dataset))

    def stop(self) -> None:
        """Stop the workers of a `PyDataset`; those of tf.data end with their iterator."""
        if self._enqueuer is not None and self._enqueuer.is_running():
            self._enqueuer.stop()


def viewed(variant: Any, element_spec: Any) -> Any:
    """A `tf.data.Dataset` of a dataset variant."""
    from tensorflow.python.data.ops import dataset_ops

    return dataset_ops._VariantDataset(variant, element_spec)


_SEED_INPUTS = {"ShuffleDatasetV3": 4, "ShuffleAndRepeatDatasetV2": 5, "RandomDatasetV2": 2}
"""Ops that draw seeds from a generator of their own -> which input that is."""


def _give_own_seeds(graph: Any) -> None:
    """Have the ops of a data set's graph make seed generators of their own; as written, they share those of the data set."""
    by_name = {node.name: node for node in graph.node}
    for node in graph.node:
        if node.op in _SEED_INPUTS:
            generator = by_name[node.input[_SEED_INPUTS[node.op]].partition(":")[0]]
            generator.op = "DummySeedGenerator"
            generator.attr.clear()


def size_of(batch: Any) -> int:
    """Samples in a batch: the first dimension of its first tensor; 1 for one without dimensions."""
    import tensorflow as tf

    for tensor in tf.nest.flatten(batch):
        shape = getattr(tensor, "shape", None)
        if shape is not None:
            return int(shape[0]) if len(shape) and shape[0] is not None else 1
    return 1


def are_alike(spec: Any, other: Any) -> bool:
    """Whether a model that takes elements of one type can take those of the other: same structure, shapes that agree."""
    import tensorflow as tf

    try:
        tf.nest.assert_same_structure(spec, other)
    except (ValueError, TypeError):
        return False
    pairs = zip(tf.nest.flatten(spec), tf.nest.flatten(other), strict=True)
    return all(a.shape.is_compatible_with(b.shape) for a, b in pairs if hasattr(a, "shape") and hasattr(b, "shape"))


def _told_size(element_spec: Any) -> int | None:
    import tensorflow as tf

    leaves = [leaf for leaf in tf.nest.flatten(element_spec) if getattr(leaf, "shape", None) is not None]
    shape = leaves[0].shape if leaves else None
    return shape[0] if shape is not None and shape.rank else None


def _shuffles(dataset: Any) -> bool:
    """Whether an op of the chain draws an order or random values for each of its iterators."""
    waiting, is_random = [dataset], False
    while waiting and not is_random:
        one = waiting.pop()
        is_random = any(word in type(one).__name__ for word in ("Shuffle", "Random"))
        waiting.extend(one._inputs() if hasattr(one, "_inputs") else ())
    return is_random
