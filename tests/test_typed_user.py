"""A program of a user's that holds every public name passes `mypy --strict`, and what it must not write is told to it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tfprof_widgets as tfprof

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "tests" / "typed_user.py"
CONFIG = """[mypy]
strict = true
[mypy-tfprof_widgets.*]
follow_imports = silent
[mypy-bokeh.*,dask.*,distributed.*,duckdb.*,fsspec.*,google.*,grpc.*,IPython.*,ipykernel.*,jupyter_client.*,jupyter_server.*,keras.*]
ignore_missing_imports = true
follow_imports = skip
[mypy-comm.*,psutil.*,pyarrow.*,tensorflow.*,tornado.*,tqdm.*,traitlets.config.*]
ignore_missing_imports = true
follow_imports = skip
"""
"""As a user has it: errors within an installed package are not theirs. What the package needs besides is left out for speed."""
MISTAKES = """import tfprof_widgets as tfprof
tfprof.load("run").overview
tfprof.ProfileCallback(range(10), 5, True)
tfprof.ProfilerHook(stepz=3)
tfprof.load("run", "graph.pb")
with tfprof.profile(detail="lowest") as prof:
    prof.steps.append(3)
prof.step_tables
tfprof.watch(every="3")
tfprof.scaling([prof], global_batch="shrinks")
tfprof.diff(prof, "run")
"""
"""Each line from the second on is one."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy says of the program and of the mistakes, which it has not seen before."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "mypy.ini").write_text(CONFIG, "utf-8")
    (folder / "mistakes.py").write_text(MISTAKES, "utf-8")
    cache = ROOT / ".mypy_cache" / "typed_user"
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        "mypy.ini",
        "--cache-dir",
        str(cache),
        "--no-error-summary",
    ]
    done = subprocess.run(
        [*command, str(PROGRAM), "mistakes.py"], cwd=folder, env={"MYPYPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert not done.stderr
    return done.stdout


def test_mypy_has_nothing_to_say_of_a_program_that_uses_every_public_name(told: str) -> None:
    assert "typed_user" not in told


def test_mypy_tells_each_mistake(told: str) -> None:
    lines = {int(found) for found in re.findall(r"mistakes\.py:(\d+): error", told)}
    assert lines == {*range(2, MISTAKES.count("\n") + 1)}


def test_the_program_uses_every_public_name() -> None:
    used = {
        ast.unparse(node) for node in ast.walk(ast.parse(PROGRAM.read_text("utf-8"))) if isinstance(node, ast.Attribute)
    }
    assert {f"tfprof.{name}" for name in tfprof.__all__} <= used
    assert {f"tfprof.experiments.{name}" for name in tfprof.experiments.__all__} <= used
    own = {"run", "take", "title"}
    assert {f"prof.{name}" for name in vars(tfprof.Profile) if not name.startswith("_") and name not in own} <= used
