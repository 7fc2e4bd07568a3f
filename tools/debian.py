"""A Debian machine -> what the checks need of its packages, installed as root: only `make system` does so, and .ci/run by it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

from tools import chromium


def missing() -> list[str]:
    """The packages to install: a Chromium, a font for it, and Debian's split-off `venv` module."""
    found = []
    if importlib.util.find_spec("ensurepip") is None:
        found.append(f"python{sys.version_info.major}.{sys.version_info.minor}-venv")
    if chromium.find() is None:
        found += ["chromium", "fonts-liberation"]
    elif chromium.lacks_narrow_font():
        found.append("fonts-liberation")
    return found


def install(packages: list[str]) -> bool:
    """Install packages, quietly; False where that is impossible here."""
    apt, sudo = shutil.which("apt-get"), shutil.which("sudo")
    is_root = os.name == "posix" and os.geteuid() == 0
    if apt is None or not (is_root or sudo):
        return False
    # `env` carries the variable through sudo, which drops the environment.
    quiet = [*([] if is_root else [str(sudo)]), "env", "DEBIAN_FRONTEND=noninteractive", apt, "-qq"]
    subprocess.run([*quiet, "update"], stdout=subprocess.DEVNULL, check=False)
    command = [*quiet, "install", "-y", "--no-install-recommends", *packages]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0


def main() -> int:
    """Install what is missing; 1 where that failed."""
    packages = missing()
    if not packages:
        print("No system package is missing.")
        return 0
    print(f"Installing {', '.join(packages)} ...", flush=True)
    if install(packages):
        return 0
    print(f"That failed, or this is no Debian with root: install by hand what {', '.join(packages)} are called here.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
