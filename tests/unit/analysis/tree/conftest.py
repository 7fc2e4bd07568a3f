"""What tfprof made of nets of TensorFlow 1, each run once a session in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from tests.warm_process import run_python


@pytest.fixture(scope="session")
def tfprof_folder(shared_directory: Path) -> Callable[[str], Path]:
    """`tfprof_folder(net)`: what `tfprof_nets.py` left."""

    def folder(net: str) -> Path:
        made = shared_directory / "tfprof" / net
        made.mkdir(parents=True, exist_ok=True)
        with FileLock(made / "lock"):
            if (made / "run").exists():
                pytest.fail(f"tfprof on {net!r} failed before: {(made / 'error').read_text()}")
            if not (made / "whole").exists():
                (made / "run").mkdir()
                imported = "import pathlib, tests.unit.analysis.tree.tfprof_nets as nets"
                program = f"{imported}\nnets.main({net!r}, pathlib.Path({str(made / 'run')!r}))\n"
                done = run_python(program, timeout_s=300)
                if done.returncode:
                    (made / "error").write_text(f"status {done.returncode}\n{done.stderr[-2000:]}")
                    pytest.fail((made / "error").read_text())
                (made / "run").rename(made / "whole")
        return made / "whole"

    return folder
