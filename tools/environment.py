"""A checkout and a list of extras -> a virtual environment that has the package, editable; made by uv where it is there."""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

from tools import debian

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 10)


def missing_packages() -> list[str]:
    """Debian's split-off `venv` module of this Python, where it is missing and nothing else makes environments."""
    if shutil.which("uv") or importlib.util.find_spec("ensurepip") is not None:
        return []
    return [f"python{sys.version_info.major}.{sys.version_info.minor}-venv"]


def create(venv: Path, python: str = sys.executable) -> None:
    """Make the environment with a Python, unless it is there."""
    if (venv / "bin" / "python").exists():
        return
    if (packages := missing_packages()) and debian.is_allowed():
        debian.install(packages)
    uv = shutil.which("uv")
    by_uv = [[uv, "venv", "--quiet", "--seed", "--python", python, str(venv)]] if uv else []
    told = ""
    for command in [*by_uv, [python, "-m", "venv", str(venv)]]:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        # Half an environment (no pip) is left behind when ensurepip is missing.
        shutil.rmtree(venv, ignore_errors=True)
        told += done.stdout + done.stderr
    sys.exit(
        f"{python} could not make the virtual environment {venv}: install its `venv` module (on Debian "
        f"`make system` does, as root) or uv, and run make again.\n{told}"
    )


def install(venv: Path, requirements: list[str]) -> str:
    """Install requirements, by pip where there is no uv or it fails, as behind a proxy that pip alone knows; else why not."""
    python, uv = str(venv / "bin" / "python"), shutil.which("uv")
    by_uv = [[uv, "pip", "install", "--quiet", "--python", python]] if uv else []
    told = ""
    for command in [*by_uv, [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]]:
        done = subprocess.run([*command, *requirements], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode == 0:
            return ""
        told += done.stderr
    return told or "it gave no reason"


def main() -> None:
    """Create and fill the environment named on the command line, unless the same was installed from the same pyproject.toml."""
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
    stamp = args.venv / f".installed-{args.extras.replace(',', '-')}"
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + repr(args.also).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"Installing tfprof_widgets[{args.extras}] into {args.venv} (some minutes the first time) ...", flush=True)
    if failure := install(args.venv, ["--editable", f"{ROOT}[{args.extras}]", *args.also]):
        sys.exit(
            f"{failure}\ntfprof_widgets[{args.extras}] could not be installed into {args.venv} with Python "
            f"{sys.version.split()[0]}. TensorFlow has no wheels for the newest Pythons: `make PYTHON=python3.12 ...` "
            "takes another."
        )
    stamp.write_text(wanted)


if __name__ == "__main__":
    main()
