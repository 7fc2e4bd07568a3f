"""training: a compiled Keras model and batches -> a variant that trains as `model.fit` does, bounded and without its output."""

from __future__ import annotations

import functools
import itertools
import time
import warnings
from collections.abc import Sequence
from typing import Any

from ..session.tf_profiler import import_tensorflow
from .callbacks import CallbackSet
from .inputs import Batches, viewed
from .kept import Kept
from .measure import Advance, Bounds, Run, n_warmed_up, timed


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


def warn_epoch_end(variants: Sequence[Training]) -> list[str]:
    """What a reader must know of time that is in no step."""
    told = []
    for variant in variants:
        spent = sorted(variant.epoch_end_seconds)
        if spent and spent[len(spent) // 2] >= 0.01:
            told.append(f"{variant.name}: on_epoch_end took {spent[len(spent) // 2]:.2f} s beside that, once an epoch.")
    return told
