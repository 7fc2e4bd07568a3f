"""Names of programs, or none for all -> a table of what the tool says of each and what its fix wins; JSON in build/diagnosis."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.nightly.diagnosis.kit import Program, registered
from tests.nightly.diagnosis.verdict import Card, judge
from tests.warm_process import run_python

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "build" / "diagnosis"
LIMIT_S = 240
HEAD = "| program | theme | verdict | gain said | gain measured | the card |\n|---|---|---|---|---|---|"


def main(names: list[str]) -> int:
    """Examine programs one after the other; 1 where one of them could not be."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    programs = registered()
    unknown = sorted(set(names) - set(programs))
    if unknown:
        raise SystemExit(f"No program is called {unknown[0]}; there are {', '.join(programs)}.")
    RESULTS.mkdir(parents=True, exist_ok=True)
    print(HEAD, flush=True)
    results = []
    for program in [programs[name] for name in names or programs]:
        told = examined(program)
        results.append(told)
        print(row(program, told), flush=True)
    kinds = Counter(told["kind"] for told in results)
    print("\n" + ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()))
    (RESULTS / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    return int("failed" in kinds)


def examined(program: Program) -> dict[str, Any]:
    """What a process of its own found out about a program, with the verdict; where it failed, the end of its output."""
    path = RESULTS / f"{program.name}.json"
    path.unlink(missing_ok=True)
    known = {"name": program.name, "theme": program.theme, "cause": program.cause}
    call = f"from tests.nightly.diagnosis.one_run import write; write({program.name!r}, {str(path)!r})"
    try:
        error = run_python(call, cwd=ROOT, timeout_s=LIMIT_S).stderr
    except subprocess.TimeoutExpired as expired:
        error = str(expired)
    if not path.exists():
        return known | {"kind": "failed", "error": error[-2000:], "cards": []}
    told = known | json.loads(path.read_text(encoding="utf-8"))
    verdict = judge(program, [Card(**card) for card in told["cards"]])
    told |= {"kind": verdict.kind, "card": told["cards"].index(vars(verdict.card)) if verdict.card else None}
    path.write_text(json.dumps(told, indent=1), encoding="utf-8")
    return told


def row(program: Program, told: dict[str, Any]) -> str:
    """A line of the table."""
    card = told["cards"][told["card"]] if told.get("card") is not None else {}
    said, measured = (
        f"{100 * r:.0f} %" if r is not None else "" for r in (card.get("gain_ratio"), told.get("gain_ratio"))
    )
    text = (told.get("error") or card.get("title") or "").strip().rpartition("\n")[2].replace("|", "\\|")
    return f"| {program.name} | {program.theme} | {told['kind']} | {said} | {measured} | {text} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
