"""Names of Debian packages -> installed, where that is allowed: by root, by `make system`, or with ALLOW_APT=1."""

from __future__ import annotations

import os
import shutil
import subprocess

CHROMIUM = ("chromium", "fonts-liberation")


def is_allowed() -> bool:
    """Whether packages may be installed where nobody asked for that: root's machine is there for it, others have to say so."""
    return _is_root() or os.environ.get("ALLOW_APT") == "1"


def _is_root() -> bool:
    return os.name == "posix" and os.geteuid() == 0


def install(packages: list[str]) -> bool:
    """Install packages, quietly; False where that is impossible here."""
    apt, sudo = shutil.which("apt-get"), shutil.which("sudo")
    if apt is None or not (_is_root() or sudo):
        return False
    print(f"Installing {', '.join(packages)} ...", flush=True)
    # `env` carries the variable through sudo, which drops the environment.
    quiet = [*([] if _is_root() else [str(sudo)]), "env", "DEBIAN_FRONTEND=noninteractive", apt, "-qq"]
    subprocess.run([*quiet, "update"], stdout=subprocess.DEVNULL, check=False)
    command = [*quiet, "install", "-y", "--no-install-recommends", *packages]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0
