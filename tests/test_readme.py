"""README, CONTRIBUTING and CHANGELOG: their code runs, and the names, targets and files they speak of exist."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.unit.capture.remote.processes import TrainingProcess
from tests.warm_process import run_python
from tfprof_widgets.capture.session.control import LONGEST_SESSION_S
from tfprof_widgets.capture.session.record import DEFAULT_MAX_BYTES, DEFAULT_MAX_SECONDS
from tfprof_widgets.notebook.magics import TfprofMagics
from tfprof_widgets.profiles.one_run import Profile
from tfprof_widgets.trace.scratch import KEPT_BYTES, KEPT_S

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")

PREPARED = """
import keras, numpy as np, tensorflow as tf
dataset = tf.data.Dataset.from_tensor_slices((np.ones((160, 4), "f4"), np.ones((160, 1), "f4"))).batch(8).repeat(2)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
train_step = tf.function(lambda batch: tf.reduce_mean(model(batch[0])))
"""
# Cells run as in a notebook; each tells whether it succeeded, and what the names it leaves behind say.
DRIVER = """
import json, os
os.environ.pop("TF_CPU_ALLOCATOR_USE_BFC", None)
from IPython.core.interactiveshell import InteractiveShell
shell, told = InteractiveShell.instance(), []
for cell in CELLS:
    result = shell.run_cell(cell, store_history=True)
    prof = shell.user_ns.get("prof")
    told.append([repr(result.error_before_exec or result.error_in_exec), len(prof.steps) if prof is not None else -1])
callback = shell.user_ns["callback"]
print("\\n@@" + json.dumps([told, callback.profile.steps["name"].tolist()]))
"""


WORKERS = ("127.0.0.1:6009", "127.0.0.1:6010")
"""The workers of the README, for which two processes of the test stand."""


@pytest.fixture
def workers() -> Iterator[list[str]]:
    """Addresses of two processes that train."""
    processes = [TrainingProcess("tfprof") for _ in WORKERS]
    try:
        yield [process.address for process in processes]
    finally:
        for process in processes:
            process.end()


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.tensorflow
def test_the_code_of_the_readme_runs_from_top_to_bottom(tmp_path: Path, workers: list[str]) -> None:
    text = README
    for told, address in zip(WORKERS, workers, strict=True):
        assert told in text
        text = text.replace(told, address)
    blocks = python_blocks(text)
    assert len(blocks) == 10
    # The extension first, as the README has it: memory of the CPU is recorded from the first op on.
    cells = [blocks[0], PREPARED, *blocks[1:]]
    done = run_python(f"CELLS = {cells!r}\n{DRIVER}", cwd=tmp_path, timeout_s=400, IPYTHONDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    told_by_cells, captured = json.loads(done.stdout.rpartition("@@")[2])
    assert told_by_cells == [["None", -1]] * 2 + [["None", 80]] + [["None", 40]] * 8, done.stdout[-3000:]
    assert captured == [f"train {i}" for i in range(10, 20)]


def test_options_that_the_readme_names_are_those_of_a_capture() -> None:
    named = set(re.findall(r"`([a-z_]+)=", README))
    assert {"steps", "every", "every_seconds", "max_seconds", "max_bytes"} <= named
    assert named <= set(inspect.signature(tfprof.profile).parameters)


def test_the_default_bounds_are_told_as_they_are() -> None:
    seconds, n_bytes = f"{DEFAULT_MAX_SECONDS:g} s", f"{DEFAULT_MAX_BYTES >> 20} MiB"
    for text in (README, tfprof.profile.__doc__ or ""):
        assert seconds in text
        assert n_bytes in text
    for text in (README, tfprof.recover.__doc__ or ""):
        assert f"after {LONGEST_SESSION_S:g} s" in text
        assert f"{KEPT_S // 86_400} days" in text
        assert f"{KEPT_BYTES >> 30} GiB" in text
    options = " ".join(str(TfprofMagics.tfprofile.__doc__).split())
    assert f"(default: {DEFAULT_MAX_SECONDS:g})" in options
    assert f"(default: {n_bytes})" in options


@pytest.mark.parametrize("document", DOCUMENTS)
def test_names_that_are_spoken_of_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    for name in re.findall(r"\btfprof\.(\w+)(?!\w*\.json)", text):
        assert hasattr(tfprof, name), f"tfprof.{name}"
    for name in re.findall(r"\bprof\.(\w+)", text):
        assert hasattr(Profile, name), f"prof.{name}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_targets_and_files_that_are_spoken_of_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE)) <= targets
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / link).exists(), link
