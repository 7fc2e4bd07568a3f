"""Names of check groups -> the checks run one after the other, pytest last, and an exit status."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tools import chromium, node

ROOT = Path(__file__).resolve().parent.parent
JS = ROOT / "js"
MOST_PROCESSES = 4
"""Of tests at once: each may run a TensorFlow, a Jupyter server and a Chromium."""
IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}


@dataclass
class Report:
    """What failed and what could not be run, in the order it happened."""

    failed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    npm_path: str | None = None

    def run(self, name: str, command: list[str], cwd: Path = ROOT, path: str = "") -> bool:
        """Run one quiet check; its output is shown only when it fails."""
        env = {**os.environ, "PATH": path or os.environ.get("PATH", ""), "NO_COLOR": "1"}
        start = time.monotonic()
        done = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return self.note(name, done.returncode == 0, start, done.stdout.decode(errors="replace"))

    def note(self, name: str, is_ok: bool, start: float, output: str) -> bool:
        """Print one line for a check that began at `start`, and its output where it failed."""
        print(f"{name:<28} {'ok' if is_ok else 'FAILED'} {time.monotonic() - start:7.1f} s", flush=True)
        if not is_ok:
            print(output, flush=True)
            self.failed.append(name)
        return is_ok

    def lack(self, sentence: str) -> None:
        """Note what could not be got; in CI that is a failure."""
        print(sentence, flush=True)
        self.missing.append(sentence)
        if IN_CI:
            self.failed.append(sentence)


def python_tool(name: str) -> str:
    """The path of a command installed in this virtual environment."""
    return str(Path(sys.executable).parent / name)


def npm_path(report: Report) -> str:
    """The PATH with Node.js and installed js/node_modules, empty where that is impossible; found out once."""
    if report.npm_path is None:
        report.npm_path = _installed(report)
    return report.npm_path


def _installed(report: Report) -> str:
    try:
        path = node.get()
    except node.NodeMissingError as error:
        report.lack(f"{error} TypeScript is not checked.")
        return ""
    stamp, lock = JS / "node_modules" / ".installed", JS / "package-lock.json"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return path
    # No install scripts: esbuild's only checks a binary that its platform package already holds.
    if not report.run("npm ci", npm(path, "ci", "--ignore-scripts", "--no-audit", "--no-fund"), JS, path):
        return ""
    stamp.write_text(wanted)
    return path


def npm(path: str, *arguments: str) -> list[str]:
    """An npm command line that does not depend on the PATH of this process."""
    return [shutil.which("npm", path=path) or "npm", *arguments]


def lint(report: Report) -> None:
    """Style and types, both languages."""
    python = ["tfprof_widgets", "tests", "tools", "benchmarks"]
    report.run("ruff check", [python_tool("ruff"), "check", *python])
    report.run("ruff format", [python_tool("ruff"), "format", "--check", *python])
    report.run("mypy", [python_tool("mypy")])
    path = npm_path(report)
    if path:
        report.run("biome", npm(path, "exec", "--no", "--", "biome", "ci", "."), JS, path)
        report.run("tsc", npm(path, "exec", "--no", "--", "tsc", "--noEmit"), JS, path)


def js(report: Report) -> None:
    """The TypeScript tests, and whether the committed bundles are what js/src builds."""
    path = npm_path(report)
    if not path:
        return
    report.run("vitest", npm(path, "test"), JS, path)
    report.run("bundles as committed", npm(path, "run", "check"), JS, path)


def build(report: Report) -> None:
    """Rebuild the bundles."""
    path = npm_path(report)
    if path:
        report.run("esbuild", npm(path, "run", "build"), JS, path)


def unit(report: Report) -> None:
    """The Python tests that need neither TensorFlow nor a browser."""
    _pytest(report, "-m", "not tensorflow and not browser and not fuzz")


def pytest(report: Report) -> None:
    """All Python and browser tests; last, so that its closing line ends the output."""
    try:
        os.environ["CHROME"] = str(chromium.get())
    except chromium.ChromiumMissingError as error:
        report.lack(f"{error} Browser tests are not run.")
    if report.failed:
        print(f"Failed before pytest: {'; '.join(report.failed)}", flush=True)
    _pytest(report)


def _pytest(report: Report, *arguments: str) -> None:
    # A file goes to one process as a whole: its tests share a browser, a kernel or a training.
    processes = ["-n", str(min(MOST_PROCESSES, os.cpu_count() or 1)), "--dist", "loadfile"]
    command = [sys.executable, "-m", "pytest", "-q", *processes, *arguments]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        report.failed.append("pytest")


GROUPS: dict[str, Callable[[Report], None]] = {"lint": lint, "js": js, "build": build, "unit": unit, "pytest": pytest}


def main() -> int:
    """Run the groups named on the command line; 1 where a check failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="+", choices=GROUPS)
    report = Report()
    for group in parser.parse_args().groups:
        GROUPS[group](report)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
