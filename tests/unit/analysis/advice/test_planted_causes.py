"""Real trainings with one planted cause each, run by TensorFlow -> the top advice names it.

Advice goes by shares and medians, so a busy machine does not change it; no time is asserted. Whether a fix wins what its
advice says: `make nightly`, with `notebooks/diagnose.ipynb` and the programs of `tests/nightly/diagnosis`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.advice.selected import why_nothing_is_seen
from tests.unit.analysis.advice.trainings import train_all

pytestmark = pytest.mark.tensorflow

HEALTHY = ("healthy_dense", "healthy_convolutions", "healthy_compiled")
PLANTED = {
    # kind: rule, stage, words of the title, words of the fix
    "small_batch": ("small_batch", "", "the same for any batch", "8 times as many samples"),
    "slow_read": ("input_bound", "generator", "for data", "private_threadpool_size"),
    "overloaded_map": (
        "input_bound",
        "slow_map",
        "for data",
        "mapped = data.map(blur, num_parallel_calls=tf.data.AUTOTUNE).cache()",
    ),
    "inefficient_graph": (
        "inefficient_op",
        "",
        "11 x 11 convolution of sequential",
        "Put two to 5 convolutions of 3 x 3",
    ),
    "heavy_callback": ("host_callback", "", "on_train_batch_end (trainings.py:", "every hundredth batch"),
    "retracing": ("retracing", "", "train_step (trainings.py:", "tf.constant(i)"),
    "eager_loop": ("eager_hot_loop", "", "one by one from Python", "@tf.function"),
    "checkpoints": ("checkpoint_stall", "", "Saving weights", 'save_freq="epoch"'),
}


def why_not_planted(kind: str, prof: tfprof.Profile) -> str:
    """Empty where the first advice is on what was planted, with the right words."""
    rule, stage, title, fix = PLANTED[kind]
    if not prof.advice:
        return "there is no advice"
    top = prof.advice[0]
    if (top.rule, top.stage, top.severity) != (rule, stage, "high"):
        return f"first is {top}"
    return "" if title in top.title and fix in str(top.fix) else f"{top.title}\n{top.fix}"


@pytest.fixture(scope="module")
def prof_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tfprof.Profile]:
    """`prof_of(kind)`: the profile of a training, all of them run once in one process."""
    runs = train_all(tmp_path_factory.mktemp("trainings"), [*HEALTHY, *PLANTED])
    profiles: dict[str, tfprof.Profile] = {}

    def prof(kind: str) -> tfprof.Profile:
        if kind not in profiles:
            profiles[kind] = tfprof.load(runs[kind])
        return profiles[kind]

    return prof


@pytest.mark.parametrize("kind", PLANTED)
def test_the_planted_cause_is_the_top_advice(kind: str, prof_of: Callable[[str], tfprof.Profile]) -> None:
    assert why_not_planted(kind, prof_of(kind)) == ""


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
    gains = [one.gain_ratio for one in prof.advice if one.rule != "small_batch"]
    assert gains == sorted(gains, reverse=True)
    assert prof.advice_table["rule"].tolist() == [one.rule for one in prof.advice]


@pytest.mark.parametrize("kind", HEALTHY)
def test_a_healthy_training_gets_no_advice_of_high_severity(
    kind: str, prof_of: Callable[[str], tfprof.Profile]
) -> None:
    assert [one for one in prof_of(kind).advice if one.severity == "high"] == []
