"""Paths of source files, with and without what the capture knew of its libraries."""

from __future__ import annotations

import pytest

from tfprof_widgets.analysis import UserFiles
from tfprof_widgets.trace import made_source_map, table_frame

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
        ("/kit/keras/src/layers/layer.py", False),
        ("/usr/lib/python3.12/threading.py", False),
        ("/usr/local/lib/python3.12/dist-packages/einops/layers.py", False),
        ("/home/me/lib/python3.12/site-packages/mine.py", True),
        ("/odd/generated.py", False),
        ("<frozen runpy>", False),
        ("/tmp/__autograph_generated_file5x_a.py", False),
        ("<ipython-input-3-abc>", True),
        ("third_party/tensorflow/python/ops/nn.py", False),
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
        ("/usr/local/lib/python3.12/dist-packages/einops/layers.py", False),
        ("/kit/keras/src/layers/layer.py", False),
        ("/tmp/ipykernel_1/2.py", True),
        ("/tmp/__autograph_generated_file5x_a.py", False),
    ],
)
def test_without_them_the_path_tells_as_much_as_it_can(path: str, is_users: bool) -> None:
    assert UserFiles.of_map(None).has(path) is is_users
