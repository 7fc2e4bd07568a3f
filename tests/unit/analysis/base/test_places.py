"""Places of frames: what is the user's code, what is a library's."""

from __future__ import annotations

import pytest

from tfprof_widgets.analysis import (
    KERAS,
    KERAS_LOSS,
    KERAS_OPTIMIZER,
    TF_DATA,
    FrameTable,
    UserFiles,
    bucket_of_file,
    frame_places,
)
from tfprof_widgets.trace import made_source_map, table_frame

LIB = "/venv/lib/python3.11/site-packages"
FIT = (f"{LIB}/keras/src/backend/tensorflow/trainer.py", "fit")
SEQUENTIAL = (f"{LIB}/keras/src/models/sequential.py", "call")
DENSE = (f"{LIB}/keras/src/layers/core/dense.py", "call")
ADAM = (f"{LIB}/keras/src/optimizers/adam.py", "update_step")
LOSS = (f"{LIB}/keras/src/losses/loss.py", "__call__")
METRIC = (f"{LIB}/keras/src/metrics/metric.py", "update_state")
MY_CELL, MY_LAYER = ("/tmp/ipykernel_1/2.py", "<module>"), ("/home/me/net.py", "call")


def standing_for(*stack: tuple[str, str]) -> tuple[str, str, bool]:
    """The user's file, the bucket and whether a layer stands for the innermost frame of a stack."""
    table = FrameTable(
        tuple(range(-1, len(stack) - 1)),
        tuple(path for path, _ in stack),
        (1,) * len(stack),
        tuple(function for _, function in stack),
        tuple(UserFiles({}, ()).has(path) for path, _ in stack),
    )
    places = frame_places(table)
    user = int(places.user_frame[-1])
    return table.path[user] if user >= 0 else "", places.bucket[-1], bool(places.is_of_layer[-1])


def test_what_fit_calls_has_the_name_of_its_part() -> None:
    assert standing_for(MY_CELL, FIT, ADAM)[1] == KERAS_OPTIMIZER
    assert standing_for(MY_CELL, FIT, LOSS)[1] == KERAS_LOSS
    assert standing_for(MY_CELL, FIT, METRIC)[1] == KERAS_LOSS
    assert standing_for(MY_CELL, FIT)[1] == KERAS
    assert standing_for(MY_CELL, (FIT[0], "one_step_on_data")) == (MY_CELL[0], "", False), "of which fit is a caller"


def test_layers_that_keras_calls_stand_for_themselves() -> None:
    assert standing_for(MY_CELL, FIT, SEQUENTIAL, DENSE)[2]
    assert standing_for(MY_CELL, SEQUENTIAL, DENSE) == (MY_CELL[0], "", True)
    assert standing_for(MY_CELL, FIT, DENSE)[2]
    assert not standing_for(MY_CELL, DENSE)[2], "a layer that the user's line calls"


@pytest.mark.parametrize(
    ("path", "bucket"),
    [
        (f"{LIB}/tensorflow/python/data/ops/map_op.py", TF_DATA),
        (f"{LIB}/keras/src/trainers/compile_utils.py", KERAS_LOSS),
        (f"{LIB}/tf_keras/src/optimizers/adam.py", KERAS_OPTIMIZER),
        ("C:\\venv\\Lib\\site-packages\\keras\\src\\layers\\core.py", KERAS),
        ("/usr/lib/python3.11/threading.py", "Python library"),
    ],
)
def test_files_of_libraries_have_buckets(path: str, bucket: str) -> None:
    assert bucket_of_file(path) == bucket


ROOTS = ["/usr/lib/python3.12", "/usr/local/lib/python3.12/dist-packages", "/kit/keras"]
FILES = {
    "file": ["/kit/work.py", "/odd/generated.py"],
    "title": ["work.py", ""],
    "is_user": [True, False],
    "text": ["", ""],
}
KNOWN = UserFiles.of_map(
    made_source_map({"files": table_frame("files", FILES), "roots": table_frame("roots", {"root": ROOTS})}, (), ())
)


@pytest.mark.parametrize(
    ("path", "is_users"),
    [
        ("/kit/work.py", True),
        ("/kit/other.py", True),
        ("/usr/lib/python3.12/threading.py", False),
        ("/home/me/lib/python3.12/site-packages/mine.py", True),
        ("/odd/generated.py", False),
        ("<frozen runpy>", False),
        ("/tmp/__autograph_generated_file5x_a.py", False),
        ("<ipython-input-3-abc>", True),
        ("", False),
    ],
)
def test_the_roots_that_the_capture_noted_decide(path: str, is_users: bool) -> None:
    assert KNOWN.has(path) is is_users


@pytest.mark.parametrize(
    ("path", "is_users"),
    [
        ("/home/me/train.py", True),
        ("/home/me/site-packages-demo/train.py", True),
        ("/venv/lib/python3.11/site-packages/keras/src/layers/layer.py", False),
        ("/tmp/ipykernel_1/2.py", True),
        ("/tmp/__autograph_generated_file5x_a.py", False),
    ],
)
def test_without_them_the_path_tells_as_much_as_it_can(path: str, is_users: bool) -> None:
    assert UserFiles.of_map(None).has(path) is is_users
