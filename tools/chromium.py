"""A machine -> the path of a Chromium that starts: one that is there, Playwright's, or Debian's where that is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools import debian

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


class ChromiumMissingError(Exception):
    """No Chromium is here and none could be got; the message is one sentence."""


def _starts(path: str) -> bool:
    # Ubuntu's `chromium-browser` is a stub that exits with an error where there is no snap.
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _of_playwright() -> str:
    # In a process of its own: Playwright's loop must not live in the caller, who may have one.
    ask = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    return answer.stdout.strip()


def find() -> Path | None:
    """The Chromium named by `CHROME`, on the PATH, or installed by Playwright; None where there is none that starts."""
    named = os.environ.get("CHROME", "")
    candidates = [named] if named else [shutil.which(name) or "" for name in NAMES]
    for path in candidates:
        if path and _starts(path):
            return Path(path)
    path = "" if named else _of_playwright()
    return Path(path) if path and Path(path).exists() and _starts(path) else None


def get() -> Path:
    """Find Chromium, or have Playwright fetch it into the folder of its browsers.

    Where that fails, as in a container without the libraries that it needs, root gets Debian's package, and so does who has
    allowed it. Nothing else of the system is changed.

    Raises:
        ChromiumMissingError: `CHROME` names something that does not start, or nothing could be fetched.
    """
    path = find()
    if path is not None:
        return path
    if os.environ.get("CHROME"):
        raise ChromiumMissingError(f"CHROME={os.environ['CHROME']} does not start: unset it or name a Chromium.")
    print("No Chromium here: Playwright fetches one ...", flush=True)
    # Its own messages are stack traces of Node.js; the caller says in one sentence what is missing.
    fetch = [sys.executable, "-m", "playwright", "install", "chromium"]
    path = find() if subprocess.run(fetch, capture_output=True, check=False).returncode == 0 else None
    if path is None and debian.is_allowed() and debian.install(list(debian.CHROMIUM)):
        path = find()
    if path is None:
        raise ChromiumMissingError(
            "Chromium is missing and Playwright could not fetch one that starts: `make system` or ALLOW_APT=1 installs "
            "Debian's (apt-get install chromium fonts-liberation), or set CHROME=/path/to/chrome."
        )
    return path


def lacks_narrow_font() -> bool:
    """Whether DejaVu is all there is for Arial: it is a tenth wider, and cuts titles that fit elsewhere."""
    match = shutil.which("fc-match")
    if match is None:
        return False
    return "DejaVu" in subprocess.run([match, "Arial"], capture_output=True, text=True, check=False).stdout
