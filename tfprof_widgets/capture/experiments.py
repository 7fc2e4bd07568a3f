"""Variants of a training program -> how long a bounded number of their steps took, with everything put back."""

from __future__ import annotations

import contextlib
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median_high
from typing import Any, NamedTuple

from .program.calls import Fitted
from .record import import_tensorflow
from .restoring import CallbackSet, Kept, run_preserved
from .session import active_capture

Advance = Callable[[int], object]
"""Takes how many more steps are done."""
Plan = Callable[[Kept], Sequence["Variant"]]
"""Makes the variants of an experiment, of different names; the others are compared with the first."""

N_WARM_UP = 3
"""Steps at the start of each run that do not count: filling buffers, first use of memory. Tracing comes before all runs."""


@dataclass(frozen=True)
class Bounds:
    """How much may be measured: steps of one run, seconds of all runs of one variant together, runs of each variant."""

    n_steps: int
    max_seconds: float
    n_repeats: int

    def __post_init__(self) -> None:
        for name in ("n_steps", "n_repeats"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
        if not self.max_seconds > 0:
            raise ValueError(f"max_seconds={self.max_seconds!r} must be more than 0.")


class Run(NamedTuple):
    variant: str
    repeat: int
    n_steps: int
    n_samples: int
    seconds: float


@dataclass(frozen=True)
class Measured:
    """All runs of an experiment, variant by variant in the order given; a variant without runs ran out of memory."""

    variants: tuple[str, ...]
    runs: tuple[Run, ...]
    notices: tuple[str, ...]


def measure(plan: Plan, bounds: Bounds, advance: Advance, *roots: Any) -> Measured:
    """Measure all variants of a plan in turns, and put back what `roots` held, however it ended."""
    import_tensorflow()

    def action(kept: Kept) -> Measured:
        variants = plan(kept)
        runs, notices = _in_turns(variants, bounds, advance, kept)
        notices += [text for variant in variants for text in variant.notices]
        notices += _reservations(variants, runs, bounds)
        names = tuple(variant.name for variant in variants)
        ordered = sorted(runs, key=lambda run: (names.index(run.variant), run.repeat))
        return Measured(names, tuple(ordered), tuple(dict.fromkeys(notices)))

    return run_preserved(action, *roots)


def _in_turns(variants: Sequence[Variant], bounds: Bounds, advance: Advance, kept: Kept) -> tuple[list[Run], list[str]]:
    """The runs of the variants that had enough memory, and which had not."""
    import tensorflow as tf

    left, notices, runs = list(variants), [], []
    for repeat in range(-1, bounds.n_repeats):  # the first round prepares
        # Backwards in turn, so that a machine that gets slower or faster meanwhile favours no variant.
        for variant in left[:: -1 if repeat in range(1, bounds.n_repeats, 2) else 1]:
            try:
                kept.restore_values()
                if repeat < 0:
                    variant.prepare()
                else:
                    runs.append(variant.run(repeat, bounds, advance))
            except tf.errors.ResourceExhaustedError:
                if not variant.may_lack_memory:
                    raise
                left.remove(variant)
                notices.append(f"{variant.name} ran out of memory.")
    lasting = {variant.name for variant in left}
    return [run for run in runs if run.variant in lasting], notices


def _reservations(variants: Sequence[Variant], runs: Sequence[Run], bounds: Bounds) -> Iterator[str]:
    """What a reader of the numbers must know."""
    if active_capture() is not None:
        yield "A capture was running meanwhile, which makes every step slower."
    short = min((n for one in variants if (n := one.batches.n_batches) is not None), default=bounds.n_steps)
    if short < bounds.n_steps:
        yield f"The data set has {short:,} batches, so it was repeated to get {bounds.n_steps:,} steps."
    fewest = min((run.n_steps for run in runs), default=bounds.n_steps)
    if fewest < bounds.n_steps:
        yield f"The bound of {bounds.max_seconds:g} s a variant was met: runs of {fewest:,} steps instead of {bounds.n_steps:,}."
    if bounds.n_repeats == 1:
        yield "One repeat gives no interval."
    for variant in variants:
        spent = median_high(variant.epoch_end_seconds or [0.0])
        if spent >= 0.01:
            yield f"{variant.name}: on_epoch_end took {spent:.2f} s beside that, once an epoch."


def timed(execute: Callable[[], object], bounds: Bounds, advance: Advance, per_call: int) -> tuple[int, float]:
    """Steps done by calling `execute` after a warm-up, `per_call` in each call, and their seconds, devices included."""
    import tensorflow as tf

    # GPUs work behind what Python has called.
    wait_for_devices = getattr(tf.test.experimental, "sync_devices", lambda: None)
    max_seconds = bounds.max_seconds / bounds.n_repeats
    stop = time.perf_counter() + max_seconds
    for _ in range(0, N_WARM_UP, per_call):
        execute()
        if time.perf_counter() > stop:
            break
    wait_for_devices()
    n_done = 0
    start = time.perf_counter()
    while n_done == 0 or (n_done < bounds.n_steps and time.perf_counter() - start < max_seconds):
        execute()
        n_done += per_call
        advance(per_call)
    wait_for_devices()
    return n_done, time.perf_counter() - start


_MAX_SIZES = 4
"""So many batches of different sizes are run before the measurement, where each size is compiled on its own."""
_SURVEY_RATIO = 0.25
"""Share of the time bound that looking at the batches may take."""

NOT_COPIED = (
    "The data set could not be copied, so its shuffling has moved on: the next epoch gets another order than before."
)


class Batches:
    """A data set, `where` in messages, that yields batches without end, the same ones to every iterator made of it."""

    def __init__(self, data: Any, *, where: str = "ds") -> None:
        import tensorflow as tf

        if callable(data) and not isinstance(data, tf.data.Dataset) and not hasattr(data, "__getitem__"):
            data, where = data(), f"{where}()"
        self.notices: list[str] = []
        self._enqueuer: Any = None
        self.sizes: list[int] = []
        """Samples of each batch seen by `survey`."""
        self.is_whole = False
        """Whether those are all batches there are."""
        self.examples: dict[int, Any] = {}
        """One batch of each size, in the order seen."""
        if isinstance(data, tf.data.Dataset):
            self.dataset = self._with_own_order(data)
        elif isinstance(data, (tf.distribute.DistributedDataset, tf.distribute.DistributedIterator)):
            raise TypeError(f"{where} is distributed already: give the tf.data.Dataset that it was made of.")
        elif hasattr(data, "__next__"):
            raise TypeError(
                f"{where} is a {type(data).__name__}, which can be read only once, and an experiment reads it several times: "
                "give tf.data.Dataset.from_generator(function, output_signature=...), or a keras.utils.PyDataset."
            )
        else:
            self.dataset = self._from_keras(data, where)

    def _from_keras(self, data: Any, where: str) -> Any:
        """The data set that `model.fit` would make of it."""
        import keras
        import tensorflow as tf
        from keras.src.backend.tensorflow.trainer import TFEpochIterator

        is_arrays = isinstance(data, (tuple, list, dict)) or (hasattr(data, "dtype") and hasattr(data, "shape"))
        is_several = isinstance(data, tuple) and 1 <= len(data) <= 3
        x, y, weight = (*data, None, None)[:3] if is_several else (data, None, None)
        try:
            # Keras warns when told to shuffle what has an order of its own.
            shuffle = is_arrays or (isinstance(data, keras.utils.PyDataset) and data.num_batches is not None)
            strategy = tf.distribute.get_strategy()
            epochs = TFEpochIterator(x=x, y=y, sample_weight=weight, shuffle=shuffle, distribute_strategy=strategy)
            dataset = epochs.data_adapter.get_tf_dataset()
        except (ValueError, TypeError, AttributeError, NotImplementedError) as error:
            raise TypeError(
                f"{where} is a {type(data).__name__}, of which Keras makes no batches ({error}): give a tf.data.Dataset, a "
                "keras.utils.PyDataset or a tuple (x, y) of arrays."
            ) from error
        self._enqueuer = getattr(epochs.data_adapter, "enqueuer", None)
        if is_arrays:
            self.notices.append("Arrays were cut into shuffled batches of 32, as model.fit does unless told otherwise.")
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
            by_name = {node.name: node for node in graph.node}
            for node in graph.node:
                if node.op in _SEED_INPUTS:  # as written, it shares the generator of the data set
                    generator = by_name[node.input[_SEED_INPUTS[node.op]].partition(":")[0]]
                    generator.op = "DummySeedGenerator"
                    generator.attr.clear()
            copy = viewed(tf.raw_ops.DatasetFromGraph(graph_def=graph.SerializeToString()), dataset.element_spec)
            return copy.with_options(dataset.options())
        except Exception:  # private parts of TensorFlow, and data of more than 2 GiB: it works without, and says so
            self.notices.append(NOT_COPIED)
            return dataset

    def survey(self, n_batches: int, max_seconds: float) -> Batches:
        """Itself, after a look at the first batches, one where types tell the size: how large they are, whether more follow."""
        shape = _shape(self.dataset.element_spec)
        is_enough = shape is not None and shape.rank and shape[0] is not None
        stop = time.perf_counter() + max_seconds * _SURVEY_RATIO
        try:
            for batch in self.dataset:
                shape = _shape(batch)
                has_size = shape is not None and len(shape) and shape[0] is not None
                self.sizes.append(int(shape[0]) if has_size else 1)
                if len(self.examples) < _MAX_SIZES:
                    self.examples.setdefault(self.sizes[-1], batch)
                if is_enough or len(self.sizes) >= n_batches or time.perf_counter() > stop:
                    break
            else:
                self.is_whole = True
        finally:
            self.stop()
        if not self.sizes:
            raise ValueError("The data set is empty: there is no batch to measure with.")
        return self

    @property
    def n_batches(self) -> int | None:
        """How many there are before they repeat, as far as is known."""
        known = len(self.sizes) if self.is_whole else int(self.dataset.cardinality())
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
        size = self.sizes[0]
        made = Batches(self.repeated(size))
        made.sizes, made.examples = [size], {size: self.examples[size]}
        return made

    def repeated(self, size: int) -> Any:
        """A data set of the example of a size without end."""
        import tensorflow as tf

        same = tf.data.Dataset.from_tensors(self.examples[size]).repeat()
        with contextlib.suppress(Exception):  # as a private part of TensorFlow; with fixed shapes it works too
            # The type of the real elements: a model traced for fixed shapes may be faster than the user's ever is.
            same = viewed(same._variant_tensor, self.dataset.element_spec)
        return same

    def together(self, n: int) -> Batches:
        """Batches of the samples of `n` of these, without end and all of one size."""
        made = Batches(self.dataset.repeat().rebatch(n * self.sizes[0], drop_remainder=True))
        made._enqueuer = self._enqueuer
        return made

    def open(self, model: Any) -> Any:
        """A new iterator, from the first batch on, as a model trains on it; None only reads."""
        import tensorflow as tf

        self.stop()
        dataset = self.dataset.repeat()
        if model is not None:
            strategy = getattr(model, "distribute_strategy", None) or tf.distribute.get_strategy()
            dataset = strategy.experimental_distribute_dataset(dataset)
        return iter(dataset)

    def stop(self) -> None:
        """Stop the workers of a `PyDataset`; those of tf.data end with their iterator."""
        if self._enqueuer is not None and self._enqueuer.is_running():
            self._enqueuer.stop()


def surveyed(data: Any, bounds: Bounds, *, where: str = "ds") -> Batches:
    """The batches of a data set, as many looked at as an experiment needs; `where` is what to call it in a message."""
    return Batches(data, where=where).survey(N_WARM_UP + bounds.n_steps, bounds.max_seconds)


def viewed(variant: Any, element_spec: Any) -> Any:
    """A `tf.data.Dataset` of a dataset variant."""
    from tensorflow.python.data.ops import dataset_ops

    return dataset_ops._VariantDataset(variant, element_spec)


_SEED_INPUTS = {"ShuffleDatasetV3": 4, "ShuffleAndRepeatDatasetV2": 5, "RandomDatasetV2": 2}
"""Ops that draw seeds from a generator of their own -> which input that is."""


def _shuffles(dataset: Any) -> bool:
    """Whether an op of the chain draws an order or random values for each of its iterators."""
    waiting, is_random = [dataset], False
    while waiting and not is_random:
        one = waiting.pop()
        is_random = any(word in type(one).__name__ for word in ("Shuffle", "Random"))
        waiting.extend(one._inputs() if hasattr(one, "_inputs") else ())
    return is_random


def _shape(batch: Any) -> Any:
    """The shape of the first tensor of a batch or of its type; None without one."""
    import tensorflow as tf

    shapes = (getattr(leaf, "shape", None) for leaf in tf.nest.flatten(batch))
    return next((shape for shape in shapes if shape is not None), None)


def _agree(one: Any, other: Any, is_alike: Callable[[Any, Any], bool]) -> bool:
    """Whether two batches or types have the same structure, and their tensors shapes that are alike."""
    import tensorflow as tf

    def are(a: Any, b: Any) -> bool:
        return not (hasattr(a, "shape") and hasattr(b, "shape")) or is_alike(a.shape, b.shape)

    try:
        return all(tf.nest.flatten(tf.nest.map_structure(are, one, other)))
    except (ValueError, TypeError):
        return False


def fitting(whole: Batches, data: Any, bounds: Bounds, *, where: str) -> Batches | None:
    """The batches of a data set where a model that takes the other ones can take them; None where it cannot."""
    spec = getattr(data, "element_spec", None)
    if not _agree(whole.dataset.element_spec, spec, lambda a, b: a.is_compatible_with(b)):
        return None
    batches = surveyed(data, bounds, where=where)
    first, second = (next(iter(one.examples.values())) for one in (whole, batches))
    # Of all dimensions but that of the samples: a stage may have made the batches.
    return batches if _agree(first, second, lambda a, b: not len(a) or tuple(a[1:]) == tuple(b[1:])) else None


def check_model(model: Any) -> None:
    """Refuse what cannot be trained, and a process without TensorFlow."""
    import_tensorflow()
    if not (hasattr(model, "make_train_function") and hasattr(model, "compiled")):
        raise TypeError(f"model is a {type(model).__name__}; an experiment trains a keras.Model.")
    if not model.compiled:
        raise ValueError(
            "The model is not compiled, so it has no step to measure: call model.compile(optimizer, loss) first."
        )


@dataclass(eq=False)
class Variant:
    """One way to run the program: `fit`'s loop without its progress bar, its validation and its history."""

    name: str
    batches: Batches
    """What is read; surveyed."""
    model: Any = None
    """What is trained on it, compiled; None only reads."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the model that differ."""
    callbacks: CallbackSet | None = None
    """Called as `fit` calls them; None leaves out what calls them too."""
    may_lack_memory: bool = False
    """Whether it is left out, with a notice, where it runs out of memory, instead of raising."""

    def __post_init__(self) -> None:
        self.notices = [*self.batches.notices, *(self.callbacks.notices if self.callbacks is not None else ())]
        self.epoch_end_seconds: list[float] = []
        """What the callbacks took at the end of the epoch, run by run."""
        self._train_function: Any = None
        self._per_call = int(getattr(self.model, "steps_per_execution", 1) or 1)
        self._n_warm_up = -(-N_WARM_UP // self._per_call) * self._per_call

    def prepare(self) -> None:
        """Trace the step and run it once with each size of batch."""
        if self.model is None:
            return
        self._apply()
        self.model.make_train_function()
        self._train_function = self.model.train_function
        self.model.train_function(self.batches.open(self.model))
        self.batches.stop()
        if getattr(self.model, "jit_compile", False):  # XLA compiles each size on its own
            for size in list(self.batches.examples)[1:]:
                self.model.train_function(iter(self.batches.repeated(size)))

    def run(self, repeat: int, bounds: Bounds, advance: Advance) -> Run:
        """Measure one run on a new iterator."""
        self._apply()
        try:
            # No name for the iterator: its threads end with it, before the next run begins.
            n_steps, seconds = self._measured(self.batches.open(self.model), bounds, advance)
        finally:
            self.batches.stop()
        n_samples = self.batches.n_samples(self._n_warm_up, n_steps)
        return Run(self.name, repeat, n_steps, n_samples, seconds)

    def _apply(self) -> None:
        if self.model is not None:
            # Not by setattr: Keras would note the objects as parts of the model.
            vars(self.model).update(train_function=self._train_function, **self.fields)
            self.model.stop_training = False
            self.model.reset_metrics()

    def _measured(self, iterator: Any, bounds: Bounds, advance: Advance) -> tuple[int, float]:
        if self.callbacks is None:
            step = next if self.model is None else self.model.train_function
            return timed(partial(step, iterator), bounds, advance, self._per_call)
        logs: dict[str, Any] = {}
        numbers = itertools.count(0, self._per_call)
        with self.callbacks.opened(self.model, n_steps=self._n_warm_up + bounds.n_steps) as called:

            def execute() -> None:
                nonlocal logs
                first = next(numbers)
                called.on_train_batch_begin(first)
                logs = self.model.train_function(iterator)
                called.on_train_batch_end(first + self._per_call - 1, logs)

            called.on_train_begin()
            called.on_epoch_begin(0)
            found = timed(execute, bounds, advance, self._per_call)
            if self.model.stop_training:
                self.notices.append(
                    f"{self.name}: a callback asked to stop the training within {next(numbers):,} steps; the measurement "
                    "went on."
                )
            start = time.perf_counter()
            with warnings.catch_warnings():
                # What a callback misses in the logs of an epoch without validation is no news to anybody.
                warnings.simplefilter("ignore", UserWarning)
                called.on_epoch_end(0, _epoch_logs(logs))
            self.epoch_end_seconds.append(time.perf_counter() - start)
            called.on_train_end(logs)
        return found


def _epoch_logs(logs: Any) -> Any:
    """What the end of an epoch tells callbacks: as metrics of a validation, which there is none of, those of the training."""
    if not isinstance(logs, dict):
        return logs
    numbers = {name: float(value) for name, value in logs.items() if getattr(value, "shape", None) in ((), None)}
    return {**numbers, **{f"val_{name}": value for name, value in numbers.items()}}


def other_loss(model: Any, loss: Any) -> dict[str, Any]:
    """The attributes that give a compiled model another loss; nothing of `compile` is run again."""
    compiled = getattr(model, "_compile_loss", None)
    if compiled is None:
        raise ValueError("The model was compiled without a loss, so there is none to replace: leave out loss.")
    weights, names = getattr(compiled, "_user_loss_weights", None), getattr(model, "output_names", None)
    return {"_compile_loss": type(compiled)(loss, weights, output_names=names), "loss": loss}


def has_own_loss(model: Any) -> bool:
    """Whether the model's class computes its loss by code of its own, which may not ask for the compiled one."""
    import keras

    kind = type(model)
    return any(getattr(kind, name) is not getattr(keras.Model, name) for name in ("train_step", "compute_loss"))


INPUT, MODEL, TOGETHER = "input alone", "model alone", "together"
WITH, WITHOUT = "with callbacks", "without callbacks"
AS_IS = "as it is"


def parts(model: Any, batches: Batches, names: Sequence[str]) -> list[Variant]:
    """The variants of these names: the input alone, the model alone on one batch in memory, and both together."""
    return [
        Variant(name, batches.again_and_again() if name == MODEL else batches, None if name == INPUT else model)
        for name in names
    ]


def with_sets(model: Any, batches: Batches, sets: Mapping[str, Sequence[Any]], kept: Kept) -> list[Variant]:
    return [Variant(name, batches, model, callbacks=CallbackSet(some, kept.shared)) for name, some in sets.items()]


BOUNDS = Bounds(n_steps=30, max_seconds=6, n_repeats=3)
"""Somebody waits for it, and the kernel does nothing else meanwhile."""


def _compiled(fit: Fitted, batches: Batches, _: Kept) -> list[Variant]:
    compiled = Variant("compiled", batches, fit.model, fields={"_jit_compile": True})
    return [Variant(AS_IS, batches, fit.model), compiled]


def _twice_the_batch(fit: Fitted, batches: Batches, _: Kept) -> list[Variant]:
    twice = batches.together(2).survey(N_WARM_UP + 1, BOUNDS.max_seconds)
    return [Variant(AS_IS, batches, fit.model), Variant("twice the batch", twice, fit.model)]


@dataclass(frozen=True)
class Advised:
    """How a training is changed to measure what an advice saves."""

    how: str
    """In words how the second variant trains."""
    variants: Callable[[Fitted, Batches, Kept], list[Variant]]
    can_be: Callable[[Fitted], bool] = bool
    """Whether a training can be changed so; any can where nothing is said of it."""
    words: str = ""
    """What the advised fix says where this is what it does: a rule may advise another thing, too."""
    per: str = "step"
    """What the times are of: a `step`, or a `sample` where steps have different batches."""


_COMPILED = Advised(
    "compiled by XLA",
    _compiled,
    lambda fit: not (fit.model.jit_compile or fit.model.run_eagerly),
    words="jit_compile=True",
)
_TWICE = Advised("with twice the batch", _twice_the_batch, words="larger batch", per="sample")
ADVISED: dict[str, Advised] = {
    "input_bound": Advised(
        "with one batch from memory", lambda fit, batches, _: parts(fit.model, batches, (TOGETHER, MODEL))
    ),
    "host_callback": Advised(
        "without callbacks",
        lambda fit, batches, kept: with_sets(fit.model, batches, {WITH: fit.callbacks, WITHOUT: ()}, kept),
        lambda fit: bool(fit.callbacks),
    ),
    "launch_bound": _COMPILED,
    **dict.fromkeys(("small_batch", "few_blocks"), _TWICE),
}


def measurable_rules(fit: Fitted | None) -> dict[str, str]:
    """Rules of which the advice on this training can be measured, and what its fix says then."""
    if fit is None or not getattr(fit.model, "compiled", False):
        return {}
    return {rule: advised.words for rule, advised in ADVISED.items() if advised.can_be(fit)}


def measure_rule(rule: str, fit: Fitted, bounds: Bounds = BOUNDS) -> Measured:
    """Train some steps as they are, and as the advice of one of `measurable_rules` would have them; everything is put back."""
    check_model(fit.model)

    def plan(kept: Kept) -> list[Variant]:
        return ADVISED[rule].variants(fit, surveyed(fit.data, bounds), kept)

    return measure(plan, bounds, lambda _: None, fit.model, fit.data, *fit.callbacks)
