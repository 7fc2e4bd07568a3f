"""Real trainings with planted causes and healthy ones over five seeds -> each cause is the top advice, each time.

Writes the table of all of them to build/planted_causes.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.advice.planted import measured, why_not_planted, why_not_the_gain
from tests.unit.analysis.advice.trainings import FIXED, HEALTHY, PLANTED, train_all
from tests.warm_process import ROOT

SEEDS = range(5)
TABLE = ROOT / "build" / "planted_causes.md"
HEAD = "| seed | training | first advice | gain at most | measured | 95 % interval | others |\n|---|---|---|---|---|---|---|"


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[list[str]]:
    """Rows of the table, written in the end."""
    rows: list[str] = []
    yield rows
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text("\n".join([HEAD, *rows]) + "\n")


@pytest.mark.tensorflow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_planted_cause_is_the_top_advice_and_a_healthy_training_has_none(
    seed: int, tmp_path: Path, table: list[str]
) -> None:
    runs = train_all(tmp_path, seed)
    wrong = {}
    for kind in PLANTED:
        before, after = tfprof.load(runs[kind]), tfprof.load(runs[f"{kind}{FIXED}"])
        ratio, interval = measured(before, after)
        table.append(_row(seed, kind, before, ratio, interval))
        wrong[kind] = why_not_planted(kind, before) or why_not_the_gain(before.advice[0].gain_ratio, ratio, interval)
    for kind in HEALTHY:
        prof = tfprof.load(runs[kind])
        table.append(_row(seed, kind, prof))
        wrong[kind] = "; ".join(str(one) for one in prof.advice if one.severity == "high")
    assert {kind: why for kind, why in wrong.items() if why} == {}


def _row(
    seed: int,
    kind: str,
    prof: tfprof.Profile,
    ratio: float | None = None,
    interval: tuple[float, float] = (0.0, 0.0),
) -> str:
    first, *others = [(one.rule, f"{one.gain_ratio:.2f}") for one in prof.advice] or [("none", "")]
    gain = ("", "") if ratio is None else (f"{1 - ratio:.2f}", f"{1 - interval[1]:.2f} to {1 - interval[0]:.2f}")
    cells = [str(seed), kind, *first, *gain, ", ".join(f"{rule} {share}" for rule, share in others)]
    return f"| {' | '.join(cells)} |"
