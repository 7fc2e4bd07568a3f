"""A wheel -> an environment with nothing else, in an empty home: what installing it takes, and a first run beside TensorFlow.

No variable and no package of this process is inherited: there are a Python, a network, and pip's settings of the machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FIRST_RUN = Path(__file__).parent / "first_run.py"
MIB = 2**20


class Stranger:
    """One who has a Python and nothing else."""

    def __init__(self, home: Path, python: str) -> None:
        self.home, self.python = home, str(home / "venv" / "bin" / "python")
        self.run(python, "-m", "venv", str(home / "venv"))

    def run(self, *command: str) -> str:
        """What a command prints, in an environment of nothing but a home and the PATH of the system."""
        bare = ["env", "-i", f"HOME={self.home}", "PATH=/usr/bin:/bin", "TF_CPP_MIN_LOG_LEVEL=3", *command]
        done = subprocess.run(bare, cwd=self.home, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def install(self, *requirements: str) -> str:
        """What installing them took, and what there is on the disk by then."""
        begin = time.perf_counter()
        self.run(self.python, "-m", "pip", "install", "--quiet", "--no-cache-dir", *requirements)
        took_s = time.perf_counter() - begin
        n_bytes = sum(path.lstat().st_size for path in (self.home / "venv").rglob("*") if path.is_file())
        packages = json.loads(self.run(self.python, "-m", "pip", "list", "--format", "json"))
        return f"{took_s:.0f} s, {len(packages)} packages, {n_bytes / MIB:,.0f} MiB in all"


def main(wheel: Path, python: str) -> None:
    """Print a figure a line."""
    with tempfile.TemporaryDirectory() as folder:
        stranger = Stranger(Path(folder), python)
        print(f"{'Python':<20} {stranger.run(stranger.python, '--version').split()[1]}")
        print(f"{'wheel':<20} {wheel.name}, {wheel.stat().st_size:,} bytes")
        print(f"{'the wheel':<20} {stranger.install(str(wheel))}", flush=True)
        print(f"{'TensorFlow':<20} {stranger.install('tensorflow')}", flush=True)
        told = json.loads(stranger.run(stranger.python, str(FIRST_RUN), folder).splitlines()[-1])
        for name, value in told.items():
            print(f"{name:<20} {value:,.3f}" if name.endswith("_s") else f"{name:<20} {value:,}")


if __name__ == "__main__":
    (found,) = (ROOT / "dist").glob("*.whl")
    main(found, sys.argv[1])
