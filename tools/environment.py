"""A checkout and a list of extras -> a virtual environment with the package installed in it, editable."""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 10)


def create(venv: Path) -> None:
    """Make the environment with this Python."""
    if (venv / "bin" / "python").exists():
        return
    done = subprocess.run([sys.executable, "-m", "venv", str(venv)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        # Half an environment (no pip) is left behind when ensurepip is missing, which Debian splits off.
        shutil.rmtree(venv, ignore_errors=True)
        sys.exit(
            f"{sys.executable} could not make the virtual environment {venv}: install its `venv` module (on Debian "
            f"`make system` does, as root) and run make again.\n{done.stdout}{done.stderr}"
        )


def install(venv: Path, extras: str, also: list[str]) -> None:
    """Install the package and its extras unless the same was installed from the same pyproject.toml."""
    stamp = venv / f".installed-{extras.replace(',', '-')}"
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + repr(also).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"Installing tfprof_widgets[{extras}] into {venv} (some minutes the first time) ...", flush=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    done = subprocess.run([*pip, "--editable", f"{ROOT}[{extras}]", *also], check=False)
    if done.returncode != 0:
        sys.exit(
            f"pip could not install tfprof_widgets[{extras}] into {venv} with Python {sys.version.split()[0]}; its "
            "message stands above. TensorFlow has no wheels for the newest Pythons: `make PYTHON=python3.12 ...` "
            "takes another."
        )
    stamp.write_text(wanted)


def main() -> None:
    """Create and fill the environment named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("venv", type=Path)
    parser.add_argument("--extras", required=True)
    parser.add_argument("--also", nargs="*", default=[], help="more requirements")
    args = parser.parse_args()
    if sys.version_info < OLDEST:
        sys.exit(
            f"{sys.executable} is Python {sys.version.split()[0]}; tfprof_widgets needs {OLDEST[0]}.{OLDEST[1]} or "
            "newer: `make PYTHON=python3.12 ...` takes another."
        )
    create(args.venv)
    install(args.venv, args.extras, args.also)


if __name__ == "__main__":
    main()
