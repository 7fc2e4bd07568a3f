"""Lines of cells in a real kernel: what the source view has to show is charged to the lines the reader sees."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.notebook.committed import text_of
from tests.notebook.kernels import executed_cells

pytestmark = pytest.mark.tensorflow

CELLS = (
    """import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
%load_ext tfprof_widgets
import numpy as np, tensorflow as tf, keras, json
from keras import layers
x, y = np.random.rand(320, 28, 28, 1).astype("f4"), np.random.randint(0, 10, 320)""",
    # An older version of the model's cell, which stays in memory with its layers' calls.
    """model = keras.Sequential([
    layers.Conv2D(4, 3),
    layers.Flatten(), layers.Dense(10)])""",
    """# the model

model = keras.Sequential([
    layers.Conv2D(8, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(10),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))""",
    """

%%tfprofile -o prof --view none

# profiled
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).map(
    lambda a, b: (tf.sin(a) * 2.0, b))
model.fit(data, epochs=2, verbose=0)
w = tf.random.normal((300, 300))
@tf.function
def forward(v):
    v = tf.matmul(v, w)
    return tf.reduce_sum(v)
for i in range(5):
    forward(w)""",
    """lines = prof.run.results.source_lines
print(json.dumps({"frame": lines.frame.to_dict("records"), "files": lines.files.to_dict("records"),
                  "sampled": lines.sampled.to_dict("records"), "notices": prof.notices}))""",
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the last cell prints."""
    sources = {str(number): source for number, source in enumerate(CELLS)}
    *_, last = executed_cells(sources, tmp_path_factory.mktemp("lines"), allow_errors=False).values()
    found: dict[str, Any] = json.loads(text_of(last, "stdout"))
    return found


def line_of(text: str, cell: int) -> int:
    """The number that the reader sees beside the line of a cell with this text."""
    (number,) = [i for i, line in enumerate(CELLS[cell].split("\n"), 1) if text in line]
    return number


def row(shown: dict[str, Any], code: str) -> dict[str, Any]:
    (found,) = [one for one in shown["frame"] if code in one["code"]]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("code", "cell"),
    [
        ("layers.Conv2D(8", 2),
        ("layers.Dense(10),", 2),
        ("lambda a, b:", 3),
        ("v = tf.matmul(v, w)", 3),
        ("return tf.reduce_sum(v)", 3),
    ],
)
def test_time_is_at_the_line_that_the_reader_sees(shown: dict[str, Any], code: str, cell: int) -> None:
    found = row(shown, code)
    assert found["line"] == line_of(code, cell)
    assert found["self_time_us"] > 0
    assert found["file"] == f"Cell [{cell + 1}]"


def test_texts_are_those_of_the_cells(shown: dict[str, Any]) -> None:
    text = {one["title"]: one["text"] for one in shown["files"]}
    assert text["Cell [3]"].strip() == CELLS[2].strip()
    profiled = text["Cell [4]"].split("\n")
    for number, line in enumerate(CELLS[3].split("\n"), 1):
        if line.strip() and not line.startswith("%%"):
            assert profiled[number - 1] == line


def test_the_time_at_each_line_of_the_profiled_cell_is_sampled(shown: dict[str, Any]) -> None:
    longest = shown["sampled"][0]
    assert "model.fit" in longest["code"]
    assert longest["line"] == line_of("model.fit", 3)


def test_nothing_went_wrong(shown: dict[str, Any]) -> None:
    assert shown["notices"] == []
