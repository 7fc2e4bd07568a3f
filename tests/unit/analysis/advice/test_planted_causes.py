"""Real trainings with one planted cause each, run by TensorFlow -> the top advice names it, and a healthy one gets none.

Advice goes by shares and medians, so a busy machine does not change it; no time is asserted.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.advice.trainings import KINDS, train_all

pytestmark = pytest.mark.tensorflow
PLANTED = {
    # kind: rule, stage, words of the title, words of the fix
    "small_batch": ("small_batch", "", "the same for any batch", "8 * batch_size"),
    "slow_read": ("input_bound", "generator", "for data", "num_parallel_calls=tf.data.AUTOTUNE"),
    "overloaded_map": ("input_bound", "slow_map", "for data", "map(blur, num_parallel_calls=tf.data.AUTOTUNE).cache()"),
    "inefficient_graph": ("inefficient_op", "", "11 x 11 convolution of sequential/smoothing", "Conv2D(filters, 3"),
    "heavy_callback": ("host_callback", "", "on_train_batch_end (trainings.py:", "def on_train_batch_end"),
    "retracing": ("retracing", "", "train_step (trainings.py:", "tf.constant(i)"),
    "eager_loop": ("eager_hot_loop", "", "one by one from Python", "@tf.function"),
    "checkpoints": ("checkpoint_stall", "", "Saving weights", 'save_freq="epoch"'),
}
HEALTHY = sorted(set(KINDS) - set(PLANTED))


@pytest.fixture(scope="module")
def prof_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tfprof.Profile]:
    """`prof_of(kind)`: the profile of a training, all of them run once in one process."""
    runs = train_all(tmp_path_factory.mktemp("trainings"))
    profiles: dict[str, tfprof.Profile] = {}

    def prof(kind: str) -> tfprof.Profile:
        if kind not in profiles:
            profiles[kind] = tfprof.load(runs[kind])
        return profiles[kind]

    return prof


@pytest.mark.parametrize("kind", PLANTED)
def test_the_planted_cause_is_the_top_advice(kind: str, prof_of: Callable[[str], tfprof.Profile]) -> None:
    rule, stage, title, fix = PLANTED[kind]
    top = prof_of(kind).advice[0]
    assert (top.rule, top.stage, top.severity) == (rule, stage, "high")
    assert title in top.title
    assert fix in top.fix


@pytest.mark.parametrize("kind", PLANTED)
def test_the_evidence_can_be_selected_and_the_gain_is_a_share(
    kind: str, prof_of: Callable[[str], tfprof.Profile]
) -> None:
    prof = prof_of(kind)
    known = set(prof.ops["name"]) | set(prof.events["name"])
    for one in prof.advice:
        assert 0 <= one.gain_ratio <= 1
        assert callable(getattr(tfprof.Profile, one.selection.view))
        assert set(one.selection.op_names) <= known
        assert one.selection.step is None or one.selection.step in prof.steps["step"].tolist()
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
