"""A version of Python such as "3.12" -> an interpreter of this machine, or the name by which uv gets one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


def interpreter(version: str) -> str:
    """The path of one that starts, on the PATH or kept by pyenv; "3.12" itself where uv may find or fetch it; empty: none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = sorted(str(path) for path in pyenv.glob(f"{version}.*/bin/python{version}"))
    for path in (shutil.which(f"python{version}"), *reversed(kept)):
        if path and _starts(path):
            return path
    return version if shutil.which("uv") else ""


def _starts(path: str) -> bool:
    # pyenv has a command for each version that it keeps, which fails for those that are not chosen.
    return subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0
