"""Models, data and what can be told of their state, for programs that run experiments in processes of their own."""

from __future__ import annotations

import textwrap
from typing import Any

from tests.unit.capture.scenario import run_scenario

PRELUDE = """
import hashlib, pickle, random
from tfprof_widgets import experiments

QUICK = {"n_steps": 3, "max_seconds": 5.0, "n_repeats": 2}
rng = np.random.default_rng(0)
X, Y = rng.random((44, 4), "f4"), rng.random((44, 1), "f4")

def dataset(batch=8):
    '''Shuffled, with a ragged last batch.'''
    return tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(44, seed=3).batch(batch)

def begin():
    keras.backend.clear_session()
    keras.utils.set_random_seed(7)

def plain(**options):
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6, activation="relu"), keras.layers.Dense(1)])
    made.compile(keras.optimizers.Adam(0.01), "mse", **options)
    return made

def digest(*values):
    return hashlib.sha256(b"".join(np.asarray(value).tobytes() for value in values)).hexdigest()

def process_state():
    from tensorflow.python.eager import context
    return [hashlib.sha256(pickle.dumps(state)).hexdigest() for state in (
        random.getstate(), np.random.get_state(), context.context()._rng.getstate())]

def state(model):
    '''All that a user can see of a model, as text and numbers.'''
    optimizer = model.optimizer
    return {
        "built": [model.built, optimizer.built, [metric.built for metric in model.metrics if hasattr(metric, "built")]],
        "weights": [[variable.path, digest(variable.numpy())] for variable in model.variables],
        "optimizer": [[variable.path, digest(variable.numpy())] for variable in optimizer.variables],
        "metrics": [[metric.name, [digest(variable.numpy()) for variable in metric.variables]] for metric in model.metrics],
        "attributes": {name: id(value) for name, value in vars(model).items()},
        "of optimizer": {name: id(value) for name, value in vars(optimizer).items()},
        "stop": model.stop_training,
        "history": repr(getattr(getattr(model, "history", None), "history", None)),
        "process": process_state(),
    }

def changed(before, model):
    after = state(model)
    return [key for key in before if before[key] != after[key]]
"""


def run_program(body: str, *, definitions: str = "") -> dict[str, Any]:
    """Run `body` after the preludes and `definitions` in a fresh process and return its `out`."""
    return run_scenario(PRELUDE + definitions + textwrap.dedent(body))
