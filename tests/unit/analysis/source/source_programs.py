"""Programs of users, each run in a process of its own from a file of its own -> the `Analysis` of their captures."""

from __future__ import annotations

from pathlib import Path

from tests.unit.analysis.source.model_programs import MODELS
from tests.warm_process import run_file
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import open_traces

HEAD = """\
import contextlib, sys
import numpy as np, tensorflow as tf, keras
from keras import layers as L
from tfprof_widgets.capture import KerasPatch
from tfprof_widgets.capture import Capture, CaptureOptions
@contextlib.contextmanager
def captured():
    capture = Capture(CaptureOptions(logdir=sys.argv[1], system=False), patch=KerasPatch())
    capture.start()
    yield
    program = capture.stop().program
    program.write()
    print(program.notices)
images, labels = np.random.rand(640, 28, 28, 1).astype("f4"), np.random.randint(0, 10, 640)
"""

PROGRAMS = {
    "sequential": """
model = keras.Sequential([
    L.Conv2D(8, 3, activation="relu"),
    L.Conv2D(16, 3, activation="relu"),
    L.Flatten(),
    L.Dense(32),
    L.Dense(10),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True), metrics=["accuracy"])
data = (tf.data.Dataset.from_tensor_slices((images, labels))
        .map(lambda a, b: (tf.sin(a) * 2.0, b))
        .batch(32))
with captured():
    model.fit(data, epochs=2, verbose=0)
""",
    "functional": """
class Block(L.Layer):
    def __init__(self, n):
        super().__init__()
        self.inner = L.Dense(n, activation="tanh")
        self.scale = self.add_weight(shape=(n,), initializer="ones")
    def call(self, x):
        h = self.inner(x)
        return h * tf.sin(self.scale)
inputs = keras.Input((64,))
x = L.Dense(128, name="wide")(inputs)
x = Block(64)(x)
x = L.LayerNormalization()(x)
for i in range(2):
    x = L.Dense(32 + i, activation="relu")(x)
model = keras.Model(inputs, L.Dense(1)(x))
def my_loss(y, p):
    return tf.reduce_mean(tf.square(y - p) * tf.sin(p))
model.compile("sgd", my_loss)
with captured():
    model.fit(np.random.rand(640, 64), np.random.rand(640, 1), batch_size=64, epochs=3, verbose=0)
    model.evaluate(np.random.rand(640, 64), np.random.rand(640, 1), verbose=0)
""",
    "train_step": """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = L.Dense(64, activation="relu"), L.Dense(10)
    def call(self, x):
        h = self.hidden(keras.ops.reshape(x, (-1, 784)))
        return self.out(h)
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            logits = self(x)
            loss = self.compute_loss(x, y, logits)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(grads, self.trainable_variables)
        return {"loss": loss}
model = Net()
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
with captured():
    model.fit(images, labels, epochs=2, verbose=0)
""",
    "loop": """
model = keras.Sequential([
    L.Dense(256, activation="relu"),
    L.Dense(128, activation="relu"),
    L.Dense(10)])
optimizer = keras.optimizers.Adam()
loss_of = keras.losses.SparseCategoricalCrossentropy(True)
w = tf.Variable(tf.random.uniform((784, 64)))
@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        x = tf.matmul(x, w)
        if tf.reduce_sum(x) > 0:
            x = tf.sqrt(x + 1.0)
        for i in tf.range(3):
            x = x + tf.cos(x)
        logits = model(x, training=True)
        loss = loss_of(y, logits)
    variables = model.trainable_variables + [w]
    grads = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(grads, variables))
    return loss
@tf.function
def forward(x):
    x = tf.tanh(tf.matmul(x, w))
    return tf.reduce_sum(x * tf.sin(x))
x, y = images[:128].reshape(128, -1), labels[:128]
train_step(x, y)
with captured():
    for i in range(20):
        train_step(x, y)
    for i in range(20):
        with tf.GradientTape() as tape:
            total = forward(x)
        tape.gradient(total, w)
""",
    "compiled": """
model = keras.Sequential([
    L.Conv2D(8, 3, activation="relu"),
    L.Flatten(),
    L.Dense(10),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True), jit_compile=True)
with captured():
    model.fit(images, labels, epochs=2, verbose=0)
""",
}


def run_program(name: str, folder: Path) -> Path:
    """Run a program in `folder` and return the log directory of its capture."""
    file, logdir = folder / f"{name}.py", folder / "logs"
    file.write_text(HEAD + {**PROGRAMS, **MODELS}[name])
    done = run_file(file, str(logdir))
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.strip().endswith("()"), f"the capture had something to say: {done.stdout}"
    return logdir


def results_of(name: str, folder: Path) -> Analysis:
    """Run a program and open its capture."""
    opened = open_traces(run_program(name, folder))
    return Analysis(opened.trace, opened.source_map)
