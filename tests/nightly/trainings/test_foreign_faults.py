"""Real programs with one known fault each -> the first advice names it, with a fix that fits the program."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.advice.foreign_faults import FAULTS, run_faults
from tests.unit.analysis.advice.selected import why_nothing_is_seen

pytestmark = pytest.mark.tensorflow

SAYS = {
    # fault: rule, words of the title, words of the fix
    "one_hot_product": ("busy", "one-hot rows only picks rows", "keras.layers.Embedding"),
    "dense_update": ("dense_update", "all 200,000 rows of", "Hashing"),
    "many_variables": ("small_batch", "160 variables", "one layer in place of many"),
    "graph_loop": ("graph_loop", "the rest is running them one by one", "jit_compile=True"),
    "turned_images": ("layout_conversion", "foreign_faults.py:", "tf.transpose(x, [0, 2, 3, 1])"),
    "double_precision": ("double_precision", "3 weights are", "np.float32"),
    "number_checks": ("number_checks", "ops a step check", "disable_check_numerics"),
    "argument_conversion": (
        "argument_conversion",
        "arrays of Python or NumPy into tensors",
        "tf.constant(array)",
    ),
    "many_calls": ("small_batch", "in 40 functions", "around the whole step"),
    "eager_ops": ("eager_ops", "one by one from Python", "metrics too"),
    "step_overhead": ("small_batch", "the same for any batch", "steps_per_execution=32"),
    "compiled_shapes": ("retracing", "with compiling by XLA", "pad to one"),
    "new_functions": ("retracing", "another function object", "tf.function(train), called in the loop"),
    "function_per_loop": ("compilation", "is made anew 3 times", "tf.function(train), called in the loop"),
    "run_eagerly": ("eager_hot_loop", "one by one from Python", "run_functions_eagerly(False)"),
    "half_precision": ("half_precision", "foreign_faults.py:", 'set_global_policy("float32")'),
    "frozen_layers": ("frozen_layers", "3 frozen layers", "by predict of a model of the frozen layers"),
    "eager_fit": ("eager_hot_loop", "one by one from Python", "run_eagerly=False"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return run_faults(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("fault", FAULTS)
def test_the_cause_comes_first(fault: str, runs: dict[str, Path]) -> None:
    prof = tfprof.load(runs[fault])
    rule, title, fix = SAYS[fault]
    top = prof.advice[0]
    assert (top.rule, top.severity) in ((rule, "high"), (rule, "medium")), prof.advice
    assert title in top.title
    assert fix in str(top.fix)
    compile(top.fix.code, rule, "exec")
    assert why_nothing_is_seen(prof.run.results, top) == ""
    assert "small_batch" not in [one.rule for one in prof.advice[1:]]
