"""Names of rows, or none for all -> a virtual environment each below build/matrix, what works there, and a table of it.

Tables of the captures in `tests/data` must be the same in all rows, to the last digit.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.matrix.one_version import CHECKS, SHOWN_VERSIONS
from tfprof_widgets.capture.checks.versions import lowest_versions

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "matrix"
LIMIT_S = 900
NOTEBOOK = ("ipykernel", "nbclient")
KERAS_2 = {"TF_USE_LEGACY_KERAS": "1"}


def lowest() -> list[str]:
    """All lowest versions at once, with the oldest TensorFlow."""
    bounds = lowest_versions(importlib.metadata.requires("tfprof-widgets") or (), extra="tensorflow")
    oldest = bounds.pop("tensorflow")
    return [f"tensorflow=={oldest}.*", *(f"{name}=={version}" for name, version in bounds.items())]


ROWS: dict[str, list[str]] = {
    "lowest": lowest(),
    "2.16": ["tensorflow==2.16.*"],
    "2.16-keras-2": ["tensorflow==2.16.*", "tf_keras==2.16.*"],
    "2.17": ["tensorflow==2.17.*"],
    "2.18": ["tensorflow==2.18.*"],
    "2.21": ["tensorflow==2.21.*"],
}
"""What is installed besides the package; what nobody names is of the newest version that goes with the rest."""
VARIABLES = {"2.16-keras-2": KERAS_2}


def main(names: list[str]) -> int:
    """Examine one row after the other; 1 where something does not work in one."""
    unknown = sorted(set(names) - set(ROWS))
    if unknown:
        raise SystemExit(f"No row is called {unknown[0]}; there are {', '.join(ROWS)}.")
    BUILD.mkdir(parents=True, exist_ok=True)
    columns = ["row", *SHOWN_VERSIONS, *CHECKS]
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
        cells += ["ok" if check in found["passed"] and check not in found["failures"] else "FAILED" for check in CHECKS]
        told.append(f"| {' | '.join(cells)} |")
        print(told[-1], flush=True)
    print("\n".join(["", *failures]))
    (BUILD / "results.md").write_text("\n".join([*told, "", *failures, ""]), encoding="utf-8")
    return int(bool(failures))


def examined(name: str) -> dict[str, Any]:
    """What `one_version` tells of a row, or why it does not."""
    venv, answer = BUILD / name, BUILD / f"{name}.json"
    answer.unlink(missing_ok=True)
    nothing: dict[str, Any] = {"versions": {}, "passed": [], "digests": {}}
    make = [
        sys.executable,
        "tools/environment.py",
        str(venv),
        "--extras",
        "tensorflow",
        "--also",
        *ROWS[name],
        *NOTEBOOK,
    ]
    made = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return {**nothing, "failures": {"install": made.stderr[-2000:]}}
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT), **VARIABLES.get(name, {})}
    command = [str(venv / "bin" / "python"), "-m", "tests.matrix.one_version", str(answer)]
    try:
        done = subprocess.run(
            command, cwd=BUILD, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        return {**nothing, "failures": {"run": str(error)}}
    if not answer.exists():
        return {**nothing, "failures": {"run": done.stderr[-2000:]}}
    found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
