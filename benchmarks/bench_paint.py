"""How long a reader waits from the end of the training to the verdict on the screen, beside TensorFlow's own stop.

Run as `python benchmarks/bench_paint.py [--rounds N]`; `make bench` does, too.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from statistics import median

import processes
from marks import Mark
from processes import Outcome
from table import seconds_text

N_ROUNDS = 10
LARGE = "h100_resnet_mixed"
"""A capture of 277,012 events."""
ROUND_S = 120
MAX_QUICKSTART_S = 1.0
MAX_LARGE_S = 1.5


@dataclass(frozen=True)
class Painted:
    """What both notebooks gave."""

    quickstart: Outcome
    large: Outcome


def run(n_rounds: int = N_ROUNDS) -> Painted:
    """Measure both, so many times."""
    measured = (
        processes.run("measure_paint.py", what, "--rounds", n_rounds, timeout_s=ROUND_S * (n_rounds + 1))
        for what in ("quickstart", LARGE)
    )
    return Painted(*measured)


def marks(painted: Painted) -> list[Mark]:
    """The limits of both, for the medians."""
    quickstart, large = painted.quickstart, painted.large
    text = f"verdict of the quickstart within {MAX_QUICKSTART_S:g} s of TensorFlow's own stop"
    found = [Mark(text, quickstart.problem or "not measured", is_met=False)]
    if not quickstart.problem:
        verdict, bare, stop = (_median(quickstart, name) for name in ("verdict_s", "bare_stop_s", "stop_s"))
        words = f"{seconds_text(verdict)} after fit, {seconds_text(bare)} bare stop, {seconds_text(stop)} ours"
        found = [Mark(text, f"{seconds_text(verdict - bare)} ({words})", verdict - bare <= MAX_QUICKSTART_S)]
    text = f"verdict of a loaded capture within {MAX_LARGE_S:g} s"
    if large.problem:
        return [*found, Mark(text, large.problem, is_met=False)]
    verdict, n_events = _median(large, "verdict_s"), large.result["rounds"][0]["n_events"]
    return [*found, Mark(text, f"{seconds_text(verdict)}, {n_events:,} events", verdict <= MAX_LARGE_S)]


def sentences(painted: Painted) -> list[str]:
    """Medians of what else came, in order."""
    names = ("verdict", "timeline", "steps", "advice")
    found = []
    for what, outcome in (("quickstart", painted.quickstart), (LARGE, painted.large)):
        if not outcome.problem:
            parts = ", ".join(f"{name} {seconds_text(_median(outcome, f'{name}_s'))}" for name in names)
            found.append(f"first paint of {what}, medians of {len(outcome.result['rounds'])}: {parts}")
    return found


def _median(outcome: Outcome, name: str) -> float:
    return median(one[name] for one in outcome.result["rounds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=N_ROUNDS)
    painted = run(parser.parse_args().rounds)
    print("\n".join([*map(str, marks(painted)), *sentences(painted)]))


if __name__ == "__main__":
    main()
