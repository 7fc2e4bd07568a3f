"""Keras on another backend inside of captures: its steps are not told, as their computing may begin when a call is over.

A Keras that runs on TensorFlow and says that it is JAX is tried always, the real ones where JAX and PyTorch are installed.
These are no part of the `dev` extra: TensorFlow imports JAX wherever it is.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.warm_process import run_python

pytestmark = pytest.mark.tensorflow

PROGRAM = """
import json, os, tempfile
import keras, numpy as np
import tensorflow as tf
import tfprof_widgets as tfprof

x, y = np.ones((64, 4), "f4"), np.ones((64, 1), "f4")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
stands_in = keras.backend.backend() == "tensorflow"
if stands_in:
    keras.backend.backend = lambda: "jax"

def run(**more):
    model.fit(x, y, batch_size=8, verbose=0, **more)

def said(profile):
    overview = profile.overview
    return [overview.verdict, overview.n_steps, len(profile.advice), list(profile.notices)]

out = {}
with tfprof.profile() as profile:
    run()
out["profile"] = said(profile)
with tempfile.TemporaryDirectory() as folder:
    profile.save(folder + "/kept")
    out["loaded"] = said(tfprof.load(folder + "/kept"))
callback = tfprof.ProfileCallback()
run(callbacks=[callback])
out["callback"] = said(callback.profile)
with tfprof.profile(steps=range(2, 4)) as profile:
    run()
out["selected"] = list(profile.notices)
with tfprof.watch() as watch:
    run()
out["watch"] = [len(watch.steps), str(watch), watch.report()]
callback = tfprof.WatchCallback()
run(callbacks=[callback])
out["watch_callback"] = [len(callback.watch.steps), str(callback.watch)]

weight = tf.Variable(tf.ones([64, 64]))

@tf.function
def step():
    weight.assign(tf.tanh(weight @ weight))

step()
with tfprof.profile() as profile:
    for _ in tfprof.trace_steps(range(10)):
        step()
out["tensorflow"] = said(profile)
with tfprof.profile() as profile:
    for _ in tfprof.trace_steps(range(10)):
        np.tanh(x) if stands_in else model.predict_on_batch(x)
out["own_loop"] = said(profile)
out["doctor"] = [[one.status, one.value, one.remedy] for one in tfprof.doctor().checks if one.name == "keras_backend"]
print("@@" + json.dumps(out))
"""
BACKENDS = {"tensorflow": "JAX", "jax": "JAX", "torch": "PyTorch"}
"""What each is called here; the first stands in."""


@pytest.fixture(scope="module", params=[name for name in BACKENDS if importlib.util.find_spec(name)])
def run(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    if request.param == "tensorflow":
        done = run_python(PROGRAM)
    else:  # Keras asks for its backend when it is imported
        variables = {**os.environ, "KERAS_BACKEND": request.param, "TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=variables, capture_output=True, text=True, timeout=240
        )
    assert done.returncode == 0, done.stderr[-4000:]
    return BACKENDS[request.param], json.loads(done.stdout.rpartition("@@")[2])


@pytest.mark.parametrize("how", ["profile", "loaded", "callback"])
def test_a_capture_says_what_ran_and_judges_nothing(run: tuple[str, dict[str, Any]], how: str) -> None:
    name, out = run
    verdict, n_steps, n_advice, notices = out[how]
    assert verdict.startswith(f"Keras ran on {name}, of which TensorFlow's profiler records nothing")
    assert (n_steps, n_advice) == (0, 0)
    assert [notice.startswith(verdict) for notice in notices] == [True]


def test_steps_that_were_selected_are_not_missed(run: tuple[str, dict[str, Any]]) -> None:
    (notice,) = run[1]["selected"]
    assert notice.startswith("Keras ran on ")


@pytest.mark.parametrize("how", ["watch", "watch_callback"])
def test_a_watch_tells_no_step_and_says_why(run: tuple[str, dict[str, Any]], how: str) -> None:
    name, out = run
    n_steps, *texts = out[how]
    assert n_steps == 0
    for text in texts:
        assert f"Keras ran on {name}" in text
        assert "trace_steps" not in text
        assert "ms" not in text.split()


def test_a_program_of_tensorflow_beside_it_is_judged(run: tuple[str, dict[str, Any]]) -> None:
    verdict, n_steps, _, notices = run[1]["tensorflow"]
    assert "records nothing" not in verdict + " ".join(notices)
    assert n_steps == 10


def test_an_own_loop_on_that_backend_is_not_judged(run: tuple[str, dict[str, Any]]) -> None:
    name, out = run
    verdict, n_steps, n_advice, _ = out["own_loop"]
    assert verdict.startswith(f"No TensorFlow model ran in the steps; maybe one of {name} did")
    assert (n_steps, n_advice) == (0, 0)


def test_doctor_tells_the_backend(run: tuple[str, dict[str, Any]]) -> None:
    name, out = run
    ((status, value, remedy),) = out["doctor"]
    assert (status, value.split(":")[0]) == ("warning", name)
    assert remedy
