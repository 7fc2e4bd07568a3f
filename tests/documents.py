"""Documents for readers -> their code, run as cells of a notebook in a process with TensorFlow, and the links in them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.warm_process import run_python

ROOT = Path(__file__).parents[1]
PAGES = tuple(sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "semantics.md"))
"""The pages of the site that are written by hand; `semantics.md` has tests of its own."""
PREPARED = """
import keras, numpy as np, tensorflow as tf
dataset = tf.data.Dataset.from_tensor_slices((np.ones((160, 4), "f4"), np.ones((160, 1), "f4"))).batch(8).repeat(2)
keras.mixed_precision.set_global_policy("float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
train_step = tf.function(lambda batch: tf.reduce_mean(model(batch[0])))
"""
"""What examples take for granted."""
WORKERS = ("127.0.0.1:6009", "127.0.0.1:6010")
"""The workers of examples, for which two processes of a test stand."""
# Each cell tells whether it succeeded, and what an expression about the names that it leaves behind says.
DRIVER = """
import json, os
os.environ.pop("TF_CPU_ALLOCATOR_USE_BFC", None)
from IPython.core.interactiveshell import InteractiveShell
shell, told = InteractiveShell.instance(), {}
for name, cells in PAGES.items():
    shell.reset()
    told[name] = []
    for cell in cells:
        result = shell.run_cell(cell, store_history=True)
        try:
            value = eval(PROBE, shell.user_ns)
        except NameError:
            value = None
        told[name].append([repr(result.error_before_exec or result.error_in_exec), value])
print("\\n@@" + json.dumps(told))
"""
_FENCED = re.compile(r"^(?P<indent> *)```(?P<kind>python|bash)\n(?P<code>.*?)^ *```", re.DOTALL | re.MULTILINE)
_ELSEWHERE = re.compile(r"^import (jax|torch_xla)\b", re.MULTILINE)
"""What the `dev` extra has not: examples with it are compiled, and their traces are those of `tests/data`."""
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")


@dataclass(frozen=True)
class Told:
    """What a cell did."""

    error: str
    """`"None"` for none."""
    value: Any
    """Of the expression; None where it speaks of a name that is not there yet."""


def cells_of(text: str) -> list[str]:
    """The examples of a text, in order: Python as it is, and Python that does what a shell is told of `tfprof` and `cp`."""
    return list(filter(None, map(_cell, _FENCED.finditer(text))))


def _cell(found: re.Match[str]) -> str:
    code = re.sub(rf"^{found['indent']}", "", found["code"], flags=re.MULTILINE)
    if _ELSEWHERE.search(code):
        return f"compile({code!r}, 'example', 'exec')"
    return code if found["kind"] == "python" else "\n".join(filter(None, map(_of_shell, code.splitlines())))


def _of_shell(line: str) -> str:
    program, *words = shlex.split(line, comments=True) or [""]
    if program == "cp":
        return f"import subprocess; subprocess.run({[program, *words]!r}, check=True)"
    words = words[: words.index(">")] if ">" in words else words
    # How busy this machine is decides whether a gate can tell.
    expected = (0, 3) if "--fail-above" in words else (0,)
    told = f"from tfprof_widgets.cli import main; assert main({words!r}) in {expected}"
    return told if program == "tfprof" else ""


def links(text: str) -> list[tuple[str, str]]:
    """Where the relative links and pictures of a Markdown text lead: the path, `""` for the text itself, and the anchor."""
    return [(found[1], found[2] or "") for found in _LINK.finditer(text)]


def run_cells(
    pages: Mapping[str, Sequence[str]], probe: str, *, cwd: Path, timeout_s: float = 500
) -> dict[str, list[Told]]:
    """Run the cells of each page in one process, from nothing but what modules keep."""
    program = f"PAGES, PROBE = {dict(pages)!r}, {probe!r}\n{DRIVER}"
    done = run_python(program, cwd=cwd, timeout_s=timeout_s, IPYTHONDIR=str(cwd))
    assert done.returncode == 0, done.stderr[-3000:]
    return {name: [Told(*one) for one in cells] for name, cells in json.loads(done.stdout.rpartition("@@")[2]).items()}
