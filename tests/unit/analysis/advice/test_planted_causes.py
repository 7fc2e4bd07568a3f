"""Real trainings with one planted cause each, run by TensorFlow -> the top advice names it.

Advice goes by shares and medians, so a busy machine does not change it; no time is asserted. The same over five seeds, and
whether a fix wins what its advice says: `make nightly`, and for each cause but one `notebooks/diagnose.ipynb`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.advice.planted import PLANTED, why_not_planted, why_not_the_gain
from tests.unit.analysis.advice.selected import why_nothing_is_seen
from tests.unit.analysis.advice.trainings import HEALTHY, train_all

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def prof_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tfprof.Profile]:
    """`prof_of(kind)`: the profile of a training, all of them run once in one process."""
    runs = train_all(tmp_path_factory.mktemp("trainings"), runs=[*HEALTHY, *PLANTED])
    profiles: dict[str, tfprof.Profile] = {}

    def prof(kind: str) -> tfprof.Profile:
        if kind not in profiles:
            profiles[kind] = tfprof.load(runs[kind])
        return profiles[kind]

    return prof


@pytest.mark.parametrize("kind", PLANTED)
def test_the_planted_cause_is_the_top_advice(kind: str, prof_of: Callable[[str], tfprof.Profile]) -> None:
    assert why_not_planted(kind, prof_of(kind)) == ""


@pytest.mark.parametrize(
    ("bound", "ratio", "interval", "is_far"),
    [
        (0.6, 0.4, (0.3, 0.5), False),
        (0.6, 0.65, (0.6, 0.7), False),
        (0.6, 0.75, (0.72, 0.78), True),  # 0.25: more than two times off, and the machine was quiet
        (0.6, 0.75, (0.2, 2.0), False),  # the same on a machine that was not
        (0.6, 1.0, (0.1, 9.0), True),  # nothing won, whatever the machine did
        (0.9, 0.72, (0.1, 9.0), True),  # promised 3.2 times what it won
        (0.1, 0.6, (0.1, 9.0), True),  # promised a quarter of it
    ],
)
def test_a_gain_that_is_far_off_is_told(
    bound: float, ratio: float, interval: tuple[float, float], is_far: bool
) -> None:
    assert (why_not_the_gain(bound, ratio, interval) != "") == is_far


@pytest.mark.parametrize("kind", PLANTED)
def test_the_evidence_can_be_seen_and_the_fix_is_python(kind: str, prof_of: Callable[[str], tfprof.Profile]) -> None:
    prof = prof_of(kind)
    for one in prof.advice:
        assert callable(getattr(tfprof.Profile, one.selection.view))
        assert why_nothing_is_seen(prof.run.results, one) == "", one.rule
        compile(one.fix.code, one.rule, "exec")
        if one.selection.time_range_ns:
            selected = prof.select(time_range=one.selection.time_range_ns, ops=one.selection.op_names)
            assert len(selected.steps) >= 1
    gains = [one.gain_ratio for one in prof.advice]
    assert gains == sorted(gains, reverse=True)
    assert prof.advice_table["rule"].tolist() == [one.rule for one in prof.advice]


@pytest.mark.parametrize("kind", HEALTHY)
def test_a_healthy_training_gets_no_advice_of_high_severity(
    kind: str, prof_of: Callable[[str], tfprof.Profile]
) -> None:
    assert [one for one in prof_of(kind).advice if one.severity == "high"] == []
