"""Variants of a training program -> how long a bounded number of their steps took, with everything put back."""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from .program.calls import Fitted
from .record import import_tensorflow
from .restoring import CallbackSet, Kept, run_preserved
from .session import active_capture

Advance = Callable[[int], object]
"""Told how many more steps are done."""

N_WARM_UP = 3
"""Steps at the start of each run that do not count: filling buffers, first use of memory. Tracing comes before all runs."""


@dataclass(frozen=True)
class Bounds:
    """How much may be measured."""

    n_steps: int
    """Of one run."""
    max_seconds: float
    """Of all runs of one variant together; the step in progress ends, and one step is always measured."""
    n_repeats: int

    def __post_init__(self) -> None:
        for name in ("n_steps", "n_repeats"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
        if not self.max_seconds > 0:
            raise ValueError(f"max_seconds={self.max_seconds!r} must be more than 0.")

    @property
    def run_seconds(self) -> float:
        """Bound of one run."""
        return self.max_seconds / self.n_repeats


class Run(NamedTuple):
    """One measured run of one variant."""

    variant: str
    repeat: int
    n_steps: int
    n_samples: int
    seconds: float


@dataclass(frozen=True)
class Measured:
    """All runs of an experiment, variant by variant in the order given; repeats count from 0."""

    variants: tuple[str, ...]
    """The first is what the others are compared with. One without runs ran out of memory."""
    runs: tuple[Run, ...]
    notices: tuple[str, ...]


class Variant(Protocol):
    """One way to run the program."""

    name: str
    notices: list[str]

    def prepare(self) -> None:
        """Do what happens only once: trace, compile, build."""

    def run(self, repeat: int, bounds: Bounds, advance: Advance) -> Run:
        """Measure one run."""


@dataclass
class Plan:
    """What an experiment runs."""

    variants: Sequence[Variant]
    """Their names differ."""
    sources: Sequence[Batches]
    """What they read."""
    notices: list[str] = field(default_factory=list)
    may_lack_memory: bool = False
    """Whether a variant that runs out of memory is left out, with a notice, instead of raising."""


def measure(plan: Callable[[Kept], Plan], bounds: Bounds, advance: Advance, *roots: Any) -> Measured:
    """Measure all variants of a plan in turns, and put back what `roots` held, however it ended.

    Every other round goes backwards, so that a machine that gets slower or faster meanwhile favours no variant.

    Raises:
        CaptureError: TensorFlow is not installed.
    """
    import_tensorflow()

    def action(kept: Kept) -> Measured:
        made = plan(kept)
        runs, notices = _in_turns(made, bounds, advance)
        notices += [text for variant in made.variants for text in variant.notices]
        notices += [*_reservations(made, runs, bounds), *made.notices]
        names = tuple(variant.name for variant in made.variants)
        ordered = sorted(runs, key=lambda run: (names.index(run.variant), run.repeat))
        return Measured(names, tuple(ordered), tuple(dict.fromkeys(notices)))

    return run_preserved(action, *roots)


def _in_turns(plan: Plan, bounds: Bounds, advance: Advance) -> tuple[list[Run], list[str]]:
    """The runs of the variants that had enough memory, and which had not."""
    import tensorflow as tf

    left, notices, runs = list(plan.variants), [], []

    @contextlib.contextmanager
    def left_out_without_memory(variant: Variant) -> Iterator[None]:
        try:
            yield
        except tf.errors.ResourceExhaustedError:
            if not plan.may_lack_memory:
                raise
            left.remove(variant)
            notices.append(f"{variant.name} ran out of memory.")

    for variant in tuple(left):
        with left_out_without_memory(variant):
            variant.prepare()
    for repeat in range(bounds.n_repeats):
        for variant in tuple(left if repeat % 2 == 0 else reversed(left)):
            with left_out_without_memory(variant):
                runs.append(variant.run(repeat, bounds, advance))
    lasting = {variant.name for variant in left}
    return [run for run in runs if run.variant in lasting], notices


def _reservations(plan: Plan, runs: Sequence[Run], bounds: Bounds) -> Iterator[str]:
    """What a reader of the numbers must know."""
    if active_capture() is not None:
        yield "A capture was running meanwhile, which makes every step slower."
    short = min((n for batches in plan.sources if (n := batches.n_batches) is not None), default=None)
    if short is not None and short < bounds.n_steps:
        yield f"The data set has {short:,} batches, so it was repeated to get {bounds.n_steps:,} steps."
    fewest = min((run.n_steps for run in runs), default=bounds.n_steps)
    if fewest < bounds.n_steps:
        yield f"The bound of {bounds.max_seconds:g} s a variant was met: runs of {fewest:,} steps instead of {bounds.n_steps:,}."
    if bounds.n_repeats == 1:
        yield "One repeat gives no interval."
    for variant in plan.variants:
        spent = sorted(variant.epoch_end_seconds) if isinstance(variant, Training) else []
        if spent and spent[len(spent) // 2] >= 0.01:
            yield f"{variant.name}: on_epoch_end took {spent[len(spent) // 2]:.2f} s beside that, once an epoch."


def timed(execute: Callable[[], object], bounds: Bounds, advance: Advance, *, per_call: int = 1) -> tuple[int, float]:
    """Call `execute` until the bounds are met, after a warm-up.

    Args:
        execute: does `per_call` steps.
        bounds: of the run.
        advance: told of each call.
        per_call: steps that one call does.

    Returns:
        Steps done and the seconds that they took, devices included.
    """
    stop = time.perf_counter() + bounds.run_seconds
    for _ in range(0, N_WARM_UP, per_call):
        execute()
        if time.perf_counter() > stop:
            break
    wait_for_devices()
    n_done = 0
    start = time.perf_counter()
    while True:
        execute()
        n_done += per_call
        advance(per_call)
        if n_done >= bounds.n_steps or time.perf_counter() - start >= bounds.run_seconds:
            break
    wait_for_devices()
    return n_done, time.perf_counter() - start


def n_warmed_up(per_call: int) -> int:
    """Steps of a whole warm-up."""
    return -(-N_WARM_UP // per_call) * per_call


def wait_for_devices() -> None:
    """Wait until nothing runs on any device: GPUs work behind what Python has called."""
    import tensorflow as tf

    sync = getattr(tf.test.experimental, "sync_devices", None)
    if sync is not None:
        sync()


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


def check_model(model: Any) -> None:
    """Refuse what cannot be trained.

    Raises:
        CaptureError: TensorFlow is not installed.
        TypeError: it is no Keras model.
        ValueError: it was not compiled.
    """
    import_tensorflow()
    if not (hasattr(model, "make_train_function") and hasattr(model, "compiled")):
        raise TypeError(f"model is a {type(model).__name__}; an experiment trains a keras.Model.")
    if not model.compiled:
        raise ValueError(
            "The model is not compiled, so it has no step to measure: call model.compile(optimizer, loss) first."
        )


class Training:
    """Trains a model on batches; `fit`'s loop without its progress bar, its validation and its history.

    Args:
        name: of the variant.
        model: compiled.
        batches: what it trains on; surveyed.
        kept: of the model; gives each run the same weights.
        fields: attributes of the model that differ in this variant.
        callbacks: called as `fit` calls them; None leaves out what calls them too.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        batches: Batches,
        kept: Kept,
        *,
        fields: dict[str, Any] | None = None,
        callbacks: CallbackSet | None = None,
    ) -> None:
        self.name = name
        self.notices = [*batches.notices, *(callbacks.notices if callbacks is not None else ())]
        self.epoch_end_seconds: list[float] = []
        """What the callbacks took at the end of the epoch, run by run."""
        self._model = model
        self._batches = batches
        self._kept = kept
        self._fields = {"train_function": None, **(fields or {})}
        self._callbacks = callbacks

    @property
    def _per_call(self) -> int:
        return int(getattr(self._model, "steps_per_execution", 1) or 1)

    def prepare(self) -> None:
        """Trace the step and run it once with each size of batch."""
        self._apply()
        self._model.make_train_function()
        self._fields["train_function"] = self._model.train_function
        self._execute_once(self._open())
        if getattr(self._model, "jit_compile", False):  # XLA compiles each size on its own
            spec = self._batches.dataset.element_spec
            for batch in list(self._batches.examples.values())[1:]:
                import tensorflow as tf

                fixed = tf.data.Dataset.from_tensors(batch).repeat()
                self._execute_once(iter(viewed(fixed._variant_tensor, spec)))

    def _execute_once(self, iterator: Any) -> None:
        self._model.train_function(iterator)
        del iterator
        self._batches.stop()

    def run(self, repeat: int, bounds: Bounds, advance: Advance) -> Run:
        """Measure one run on a new iterator."""
        self._apply()
        try:
            # No name for the iterator: its threads end with it, before the next run begins.
            n_steps, seconds = self._train(self._open(), bounds, advance)
        finally:
            self._batches.stop()
        n_samples = self._batches.n_samples(n_warmed_up(self._per_call), n_steps)
        return Run(self.name, repeat, n_steps, n_samples, seconds)

    def _train(self, iterator: Any, bounds: Bounds, advance: Advance) -> tuple[int, float]:
        if self._callbacks is not None:
            return self._train_with_callbacks(iterator, bounds, advance, self._callbacks)
        train = functools.partial(self._model.train_function, iterator)
        return timed(train, bounds, advance, per_call=self._per_call)

    def _apply(self) -> None:
        """Make the model that of this variant, with the weights that it had."""
        # Not by setattr: Keras would note the objects as parts of the model.
        vars(self._model).update(self._fields)
        self._kept.restore_values()
        self._model.stop_training = False
        self._model.reset_metrics()

    def _open(self) -> Any:
        import tensorflow as tf

        strategy = getattr(self._model, "distribute_strategy", None) or tf.distribute.get_strategy()
        return self._batches.open(strategy.experimental_distribute_dataset)

    def _train_with_callbacks(
        self, iterator: Any, bounds: Bounds, advance: Advance, callbacks: CallbackSet
    ) -> tuple[int, float]:
        per_call = self._per_call
        model = self._model
        logs: dict[str, Any] = {}
        numbers = itertools.count(0, per_call)
        with callbacks.opened(model, n_steps=n_warmed_up(per_call) + bounds.n_steps) as called:

            def execute() -> None:
                nonlocal logs
                first = next(numbers)
                called.on_train_batch_begin(first)
                logs = model.train_function(iterator)
                called.on_train_batch_end(first + per_call - 1, logs)

            called.on_train_begin()
            called.on_epoch_begin(0)
            found = timed(execute, bounds, advance, per_call=per_call)
            self._note_stop(next(numbers))
            start = time.perf_counter()
            with warnings.catch_warnings():
                # What a callback misses in the logs of an epoch without validation is no news to anybody.
                warnings.simplefilter("ignore", UserWarning)
                called.on_epoch_end(0, _epoch_logs(logs))
            self.epoch_end_seconds.append(time.perf_counter() - start)
            called.on_train_end(logs)
        return found

    def _note_stop(self, n_steps: int) -> None:
        if self._model.stop_training:
            self.notices.append(
                f"{self.name}: a callback asked to stop the training within {n_steps:,} steps; the measurement went on."
            )


def _epoch_logs(logs: Any) -> Any:
    """What the end of an epoch tells callbacks: as metrics of a validation, which there is none of, those of the training."""
    if not isinstance(logs, dict):
        return logs
    numbers = {name: float(value) for name, value in logs.items() if getattr(value, "shape", None) in ((), None)}
    return {**numbers, **{f"val_{name}": value for name, value in numbers.items()}}


def other_loss(model: Any, loss: Any) -> dict[str, Any]:
    """The attributes that give a compiled model another loss; nothing of `compile` is run again.

    Raises:
        ValueError: the model was compiled without a loss.
    """
    compiled = getattr(model, "_compile_loss", None)
    if compiled is None:
        raise ValueError("The model was compiled without a loss, so there is none to replace: leave out loss.")
    made = type(compiled)(
        loss, getattr(compiled, "_user_loss_weights", None), output_names=getattr(model, "output_names", None)
    )
    return {"_compile_loss": made, "loss": loss}


def has_own_loss(model: Any) -> bool:
    """Whether the model's class computes its loss by code of its own, which may not ask for the compiled one."""
    import keras

    kind = type(model)
    return any(getattr(kind, name) is not getattr(keras.Model, name) for name in ("train_step", "compute_loss"))


INPUT, MODEL, TOGETHER = "input alone", "model alone", "together"
WITH, WITHOUT = "with callbacks", "without callbacks"
WHOLE = "everything"
AS_IS = "as it is"
"""Names of variants."""


class Reading:
    """Reads batches and does nothing with them."""

    def __init__(self, name: str, batches: Batches) -> None:
        self.name = name
        self.notices = list(batches.notices)
        self._batches = batches

    def prepare(self) -> None:
        """Nothing: a new iterator is made for each run."""

    def run(self, repeat: int, bounds: Bounds, advance: Advance) -> Run:
        """Measure one run on a new iterator."""
        try:
            n_steps, seconds = timed(functools.partial(next, self._batches.open()), bounds, advance)
        finally:
            self._batches.stop()
        return Run(self.name, repeat, n_steps, self._batches.n_samples(N_WARM_UP, n_steps), seconds)


def same_sizes(whole: Batches, other: Batches) -> bool:
    """Whether the first batches agree in all dimensions that one step needs: a stage may have made the batches."""
    import tensorflow as tf

    first, second = (next(iter(batches.examples.values())) for batches in (whole, other))
    pairs = zip(tf.nest.flatten(first), tf.nest.flatten(second), strict=True)
    return all(tuple(a.shape[1:]) == tuple(b.shape[1:]) for a, b in pairs if hasattr(a, "shape") and len(a.shape))


def surveyed(data: Any, bounds: Bounds, *, where: str = "ds") -> Batches:
    """The batches of a data set, as many looked at as an experiment needs; `where` is what to call it in a message."""
    batches = Batches(data, where=where)
    batches.survey(N_WARM_UP + bounds.n_steps, bounds.max_seconds)
    return batches


def distinct(names: Sequence[str]) -> list[str]:
    """Names told apart by a number where they are the same."""
    return [name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}" for i, name in enumerate(names)]


BOUNDS = Bounds(n_steps=30, max_seconds=6, n_repeats=3)
"""Somebody waits for it, and the kernel does nothing else meanwhile."""

Variants = Callable[[Fitted, Batches, Kept], tuple[Variant, Variant]]


def _without_input(fit: Fitted, batches: Batches, kept: Kept) -> tuple[Variant, Variant]:
    again = batches.again_and_again()
    return Training(TOGETHER, fit.model, batches, kept), Training(MODEL, fit.model, again, kept)


def _without_callbacks(fit: Fitted, batches: Batches, kept: Kept) -> tuple[Variant, Variant]:
    sets = [CallbackSet(some, kept.shared) for some in (fit.callbacks, ())]
    own, none = (Training(n, fit.model, batches, kept, callbacks=s) for n, s in zip((WITH, WITHOUT), sets, strict=True))
    return own, none


def _compiled(fit: Fitted, batches: Batches, kept: Kept) -> tuple[Variant, Variant]:
    own = Training(AS_IS, fit.model, batches, kept)
    return own, Training("compiled", fit.model, batches, kept, fields={"_jit_compile": True})


def _twice_the_batch(fit: Fitted, batches: Batches, kept: Kept) -> tuple[Variant, Variant]:
    twice = batches.together(2)
    twice.survey(N_WARM_UP + 1, BOUNDS.max_seconds)
    return Training(AS_IS, fit.model, batches, kept), Training("twice the batch", fit.model, twice, kept)


@dataclass(frozen=True)
class Advised:
    """How a training is changed to measure what an advice saves."""

    how: str
    """In words how the second variant trains."""
    variants: Variants
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
    "input_bound": Advised("with one batch from memory", _without_input),
    "host_callback": Advised("without callbacks", _without_callbacks, lambda fit: bool(fit.callbacks)),
    "launch_bound": _COMPILED,
    "unfused_optimizer": _COMPILED,
    **dict.fromkeys(("small_batch", "few_blocks", "low_utilisation", "memory_headroom"), _TWICE),
}


def measurable_rules(fit: Fitted | None) -> dict[str, str]:
    """Rules of which the advice on this training can be measured, and what its fix says then."""
    if fit is None or not getattr(fit.model, "compiled", False):
        return {}
    return {rule: advised.words for rule, advised in ADVISED.items() if advised.can_be(fit)}


def measure_rule(rule: str, fit: Fitted, bounds: Bounds = BOUNDS) -> Measured:
    """Train some steps as they are and as the advice would have them at most; everything is put back.

    Args:
        rule: one of `measurable_rules`.
        fit: what to train.
        bounds: how much may be measured of each.

    Raises:
        TypeError, ValueError: it cannot be trained so; the message says why.
    """
    check_model(fit.model)

    def plan(kept: Kept) -> Plan:
        batches = surveyed(fit.data, bounds)
        return Plan(ADVISED[rule].variants(fit, batches, kept), [batches])

    return measure(plan, bounds, lambda _: None, fit.model, fit.data, *fit.callbacks)
