"""A Debian machine -> what the checks need of its packages, installed at once: `make system`, which .ci/run calls."""

from __future__ import annotations

import sys

from tools import chromium, debian, environment


def missing() -> list[str]:
    """The packages to install: a Chromium, a font for it, and Debian's split-off `venv` module."""
    found = environment.missing_packages()
    if chromium.find() is None:
        found += debian.CHROMIUM
    elif chromium.lacks_narrow_font():
        found.append("fonts-liberation")
    return found


def main() -> int:
    """Install what is missing; 1 where that failed."""
    packages = missing()
    if not packages:
        print("No system package is missing.")
        return 0
    if debian.install(packages):
        return 0
    print(f"No package could be installed here as root: install by hand what {', '.join(packages)} are called here.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
