"""Names of check groups -> their checks run side by side, then pytest, and an exit status."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from tools import chromium, node

ROOT = Path(__file__).resolve().parent.parent
JS = ROOT / "js"
MOST_PROCESSES = 4
"""Of tests at once: each may run a TensorFlow, a Jupyter server and a Chromium."""
IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}


@dataclass(frozen=True)
class Check:
    """A command that is quiet and ends with 0 where all is well."""

    name: str
    command: list[str]
    cwd: Path = ROOT
    path: str = ""
    """The PATH it runs with; empty: that of this process."""


@dataclass
class Report:
    """What failed and what could not be run, in the order it ended."""

    failed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    npm_path: str | None = None

    def run_all(self, checks: list[Check], then: Callable[[], None]) -> None:
        """Run checks side by side, as many at once as there are processors, and `then` as soon as only one still runs."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            running = {pool.submit(self.run, check) for check in checks}
            while len(running) > 1:
                running = wait(running, return_when=FIRST_COMPLETED).not_done
            then()

    def run(self, check: Check) -> bool:
        """Run one check and print a line about it; its output is shown only when it fails."""
        env = {**os.environ, "PATH": check.path or os.environ.get("PATH", ""), "NO_COLOR": "1"}
        start = time.monotonic()
        done = subprocess.run(
            check.command, cwd=check.cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        is_ok = done.returncode == 0
        told = "" if is_ok else "\n" + done.stdout.decode(errors="replace")
        print(f"{check.name:<28} {'ok' if is_ok else 'FAILED'} {time.monotonic() - start:7.1f} s{told}", flush=True)
        if not is_ok:
            self.failed.append(check.name)
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
    if not report.run(npm("npm ci", path, "ci", "--ignore-scripts", "--no-audit", "--no-fund")):
        return ""
    stamp.write_text(wanted)
    return path


def npm(name: str, path: str, *arguments: str) -> Check:
    """A check by npm that does not depend on the PATH of this process."""
    return Check(name, [shutil.which("npm", path=path) or "npm", *arguments], JS, path)


def lint(report: Report) -> list[Check]:
    """Style and types, both languages."""
    python = ["tfprof_widgets", "tests", "tools", "benchmarks"]
    checks = [
        Check("mypy", [python_tool("mypy")]),
        Check("ruff check", [python_tool("ruff"), "check", *python]),
        Check("ruff format", [python_tool("ruff"), "format", "--check", *python]),
    ]
    path = npm_path(report)
    if path:
        checks += [
            npm("tsc", path, "exec", "--no", "--", "tsc", "--noEmit"),
            npm("biome", path, "exec", "--no", "--", "biome", "ci", "."),
        ]
    return checks


def js(report: Report) -> list[Check]:
    """The TypeScript tests, and whether the committed bundle is what js/src builds."""
    path = npm_path(report)
    return [npm("vitest", path, "test"), npm("bundle as committed", path, "run", "check")] if path else []


def build(report: Report) -> list[Check]:
    """Rebuild the bundle."""
    path = npm_path(report)
    return [npm("esbuild", path, "run", "build")] if path else []


QUICK = (
    "test_layers.py",
    "test_typescript_layers.py",
    "test_bundle.py",
    "unit/test_contract.py",
    "unit/test_public_docs.py",
    "unit/test_vectors.py",
    "unit/trace",
    "unit/formats",
    "unit/analysis/ops",
    "unit/analysis/steps",
)
"""What tells most in a minute: who imports whom, every public column, what the browser computes as Python does, and reading,
ops and steps, from which all else follows."""


def unit(_: Report) -> list[Check]:
    """The Python tests that tell most in a minute, without TensorFlow and browser."""
    paths = [f"tests/{path}" for path in QUICK]
    return [Check("pytest", pytest_command("-m", "not tensorflow and not browser", *paths))]


def nightly(report: Report) -> None:
    """What is too long for each commit, one after the other, as each says how far it is."""
    find_chromium(report)
    run = [sys.executable, "-m"]
    structures = [os.environ.get("CASES", "200000"), "--seed", os.environ.get("SEED", "0")]
    for name, command in {
        "pytest": pytest_command("-m", "nightly"),
        "structures": [*run, "tests.fuzz.open_structures", *structures],
        "diagnose": [*run, "tests.nightly.diagnosis"],
        "matrix": [*run, "tests.nightly.matrix"],
    }.items():
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            report.failed.append(name)
    print(f"Failed: {', '.join(report.failed)}" if report.failed else "All is well.", flush=True)


def find_chromium(report: Report) -> None:
    """Tell the tests where it is."""
    try:
        os.environ["CHROME"] = str(chromium.get())
    except chromium.ChromiumMissingError as error:
        report.lack(f"{error} Browser tests are not run.")


def pytest(report: Report) -> None:
    """All Python and browser tests; last, so that its closing line ends the output."""
    find_chromium(report)
    if report.failed:
        print(f"Failed before pytest: {'; '.join(report.failed)}", flush=True)
    if subprocess.run(pytest_command(), cwd=ROOT, check=False).returncode != 0:
        report.failed.append("pytest")


def pytest_command(*arguments: str) -> list[str]:
    """A file goes to one process as a whole: its tests share a browser, a kernel or a training.

    Files go in order, as those of a folder share a browser too; the longest ones are of the first folders. There are two
    processes more than processors: many tests wait for another program.
    """
    n_processes = min(MOST_PROCESSES, (os.cpu_count() or 1) + 2)
    processes = ["-n", str(n_processes), "--dist", "loadfile", "--no-loadscope-reorder"]
    return [sys.executable, "-m", "pytest", "-q", *processes, *arguments]


CHECKS: dict[str, Callable[[Report], list[Check]]] = {"unit": unit, "lint": lint, "js": js, "build": build}
"""In the order in which they begin: the longest first."""


def main() -> int:
    """Run the groups named on the command line, all tests last; 1 where a check failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="+", choices=[*CHECKS, "pytest", "nightly"])
    groups = parser.parse_args().groups
    report = Report()
    checks = [check for name in CHECKS if name in groups for check in CHECKS[name](report)]
    report.run_all(checks, lambda: pytest(report) if "pytest" in groups else None)
    if "nightly" in groups:
        nightly(report)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
