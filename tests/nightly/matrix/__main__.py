"""Names of rows, or none for all -> a virtual environment each below build/matrix, what works there, and a table of it.

Tables of the captures in `tests/data` must be the same in all rows, to the last digit. An environment where all works is removed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.nightly.matrix import front_end
from tests.nightly.matrix.one_version import CHECKS, SHOWN_VERSIONS
from tests.nightly.matrix.pythons import interpreter
from tests.nightly.matrix.rows import ROWS, Row
from tools import environment

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / "matrix"
LIMIT_S = 900
NOTEBOOK = ("ipykernel", "nbclient")
ALL_CHECKS = ("install", *CHECKS, "front_end")


def main(names: list[str]) -> int:
    """Examine one row after the other; 1 where something does not work in one."""
    unknown = sorted(set(names) - set(ROWS))
    if unknown:
        raise SystemExit(f"No row is called {unknown[0]}; there are {', '.join(ROWS)}.")
    BUILD.mkdir(parents=True, exist_ok=True)
    columns = ["row", *SHOWN_VERSIONS, *ALL_CHECKS]
    told = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    print("\n".join(told), flush=True)
    failures: list[str] = []
    digests: dict[str, str] = {}
    for name in names or ROWS:
        found = examined(name)
        differing = [one for one, digest in found["digests"].items() if digests.setdefault(one, digest) != digest]
        if differing:
            found["failures"]["captures"] = f"other figures than in the rows above: {', '.join(differing)}"
        failures += [f"{name}: {check}: {text}" for check, text in found["failures"].items()]
        cells = [name, *(found["versions"].get(one, "") for one in SHOWN_VERSIONS)]
        is_ok = {check: check in found["passed"] and check not in found["failures"] for check in ALL_CHECKS}
        cells += ["ok" if is_ok[check] else "FAILED" for check in ALL_CHECKS]
        told.append(f"| {' | '.join(cells)} |")
        print(told[-1], flush=True)
        if all(is_ok.values()):
            shutil.rmtree(BUILD / name, ignore_errors=True)
    print("\n".join(["", *failures]))
    (BUILD / "results.md").write_text("\n".join([*told, "", *failures, ""]), encoding="utf-8")
    return int(bool(failures))


def examined(name: str) -> dict[str, Any]:
    """What works in a row, what does not and why, and the versions that it was with."""
    venv, answer = BUILD / name, BUILD / f"{name}.json"
    answer.unlink(missing_ok=True)
    found: dict[str, Any] = {"versions": {}, "passed": [], "failures": {}, "digests": {}}
    failure = installed(ROWS[name], venv)
    if failure:
        return {**found, "failures": {"install": failure}}
    failure = run(ROWS[name], venv, answer)
    if failure:
        return {**found, "passed": ["install"], "failures": {"run": failure}}
    found = json.loads(answer.read_text(encoding="utf-8"))
    found["passed"].append("install")
    failure = front_end.failure(venv, answer.with_suffix(".ipynb"))
    if failure:
        found["failures"]["front_end"] = failure
    else:
        found["passed"].append("front_end")
    return found


def installed(row: Row, venv: Path) -> str:
    """Make the environment of a row; tells why it failed, and what the package changed of what was installed before it."""
    python = interpreter(row.python)
    if not python:
        return f"there is no Python {row.python} here, and no uv to get one"
    try:
        environment.create(venv, python)
    except SystemExit as error:
        return str(error)[-2000:]
    failure = environment.install(venv, [*row.requirements, *NOTEBOOK])
    before = versions(venv)
    failure = failure or environment.install(venv, ["--editable", str(ROOT)])
    after = versions(venv)
    changed = [f"{name}: {old} -> {after.get(name)}" for name, old in before.items() if after.get(name) != old]
    return failure[-2000:] or "; ".join(changed)


def versions(venv: Path) -> dict[str, str]:
    """Package -> version of all that is installed, but for our own."""
    code = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    done = subprocess.run([str(venv / "bin" / "python"), "-c", code], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    found.pop("tfprof-widgets", None)
    return found


def run(row: Row, venv: Path, answer: Path) -> str:
    """Have the environment run `one_version`; tells why it has written nothing."""
    own = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT), "JUPYTER_PREFER_ENV_PATH": "1"}
    variables = {**os.environ, **own, **row.variables}
    command = [str(venv / "bin" / "python"), "-m", "tests.nightly.matrix.one_version", str(answer)]
    try:
        done = subprocess.run(
            command, cwd=BUILD, env=variables, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        return str(error)
    return "" if answer.exists() else done.stderr[-2000:]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
