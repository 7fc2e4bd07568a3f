"""Which line of a real program each op is charged to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from tests.unit.analysis.source.source_programs import results_of
from tfprof_widgets.analysis import LINE_PHASES, Analysis, SourceLines, compute_source_lines
from tfprof_widgets.read import Frames

pytestmark = pytest.mark.tensorflow

ResultsOf = Callable[[str], Analysis]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> ResultsOf:
    """The results of a program, which runs once."""
    known: dict[str, Analysis] = {}

    def get(name: str) -> Analysis:
        if name not in known:
            known[name] = results_of(name, tmp_path_factory.mktemp(name))
        return known[name]

    return get


def row(lines: SourceLines, code: str) -> pd.Series:
    """The one row whose code contains a text."""
    (found,) = [one for _, one in lines.frame.iterrows() if code in one["code"]]
    return found


def ops_at(results: Analysis, code: str) -> set[str]:
    """Types of the ops charged to the line that contains a text."""
    lines = results.source_lines
    (entry,) = np.flatnonzero(lines.entries["code"].str.contains(code, regex=False))
    return {results.op_shares.type[i] for i in np.flatnonzero(lines.op_entry == entry)}


def own_us(results: Analysis) -> npt.NDArray[np.float64]:
    """Self time of each op."""
    ops = results.ops.set_index(["device", "name"])["total_self_time_us"]
    keys = zip(np.where(results.op_shares.is_device, "Device", "Host"), results.op_shares.name, strict=True)
    return np.array([ops.get(key, 0.0) for key in keys])


@pytest.mark.parametrize("name", ["sequential", "functional", "train_step", "loop", "compiled"])
def test_ops_of_layers_and_their_gradients_are_at_lines_of_the_user(ran: ResultsOf, name: str) -> None:
    results = ran(name)
    layers, lines = results.layers, results.source_lines
    of_layer = (layers.entries["kind"].to_numpy() == "layer")[layers.op_entry]
    has_line = (lines.entries["bucket"].to_numpy() == "")[lines.op_entry]
    own = np.where(results.op_shares.is_eager, 0.0, own_us(results))
    assert own[of_layer].sum() > 0
    assert own[of_layer & has_line].sum() >= 0.95 * own[of_layer].sum()


def test_a_layer_that_fit_calls_is_at_the_line_that_made_it(ran: ResultsOf) -> None:
    lines = ran("sequential").source_lines
    for code in ("L.Conv2D(8", "L.Conv2D(16", "L.Dense(32)", "L.Dense(10)"):
        assert row(lines, code)["forward_time_us"] > 0
        assert row(lines, code)["backward_time_us"] > 0
    assert "Conv2DBackpropInput" in " ".join(ops_at(ran("sequential"), "L.Conv2D(16"))
    at_fit = np.flatnonzero(lines.entries["code"].str.contains("model.fit"))
    assert ran("sequential").op_shares.is_eager[np.isin(lines.op_entry, at_fit)].all()


def test_the_function_of_a_dataset_is_at_its_lambda(ran: ResultsOf) -> None:
    found = row(ran("sequential").source_lines, ".map(lambda a, b")
    assert ops_at(ran("sequential"), ".map(lambda a, b") >= {"Sin", "Mul"}
    assert found["function"] == "<lambda>"
    assert found["other_time_us"] == found["self_time_us"]


def test_a_custom_layer_is_at_the_lines_of_its_call(ran: ResultsOf) -> None:
    lines = ran("functional").source_lines
    assert {"_FusedMatMul", "_MklNativeFusedMatMul", "MatMul", "_MklMatMul"} & ops_at(
        ran("functional"), "h = self.inner(x)"
    )
    assert row(lines, "h = self.inner(x)")["backward_time_us"] > 0
    assert "Sin" in ops_at(ran("functional"), "return h * tf.sin")
    assert not any("self.inner = " in code for code in lines.entries["code"])


def test_a_loss_of_the_users_is_at_its_lines(ran: ResultsOf) -> None:
    assert {"Sin", "SquaredDifference", "Mean"} & ops_at(ran("functional"), "return tf.reduce_mean(")
    assert row(ran("functional").source_lines, "return tf.reduce_mean(")["backward_time_us"] > 0


def test_a_train_step_of_the_users_is_at_its_lines(ran: ResultsOf) -> None:
    results = ran("train_step")
    lines = results.source_lines
    assert row(lines, "h = self.hidden(")["backward_time_us"] > 0
    assert row(lines, "self.compute_loss(")["forward_time_us"] > 0
    applied = (lines.op_entry == _entry(results, "self.optimizer.apply(")) & ~results.op_shares.is_eager
    assert applied.sum() > 50
    assert (lines.op_phase[applied] == LINE_PHASES.index("other")).all()


def test_converted_code_is_at_the_original_lines(ran: ResultsOf) -> None:
    results = ran("loop")
    assert "MatMul" in " ".join(ops_at(results, "x = tf.matmul(x, w)"))
    assert "Sqrt" in ops_at(results, "x = tf.sqrt(x + 1.0)")
    assert "Cos" in ops_at(results, "x = x + tf.cos(x)")
    assert row(results.source_lines, "x = x + tf.cos(x)")["backward_time_us"] > 0


def test_the_gradient_of_a_whole_function_is_at_its_forward_lines(ran: ResultsOf) -> None:
    lines = ran("loop").source_lines
    assert row(lines, "x = tf.tanh(tf.matmul(x, w))")["backward_time_us"] > 0
    assert row(lines, "return tf.reduce_sum(x * tf.sin(x))")["backward_time_us"] > 0


def test_what_a_compiled_program_tells_of_the_users_lines_is_taken(ran: ResultsOf) -> None:
    results = Analysis(ran("compiled").trace)
    shares, n = results.op_shares, len(results.op_shares)
    told = replace(
        shares,
        source_file=("/home/me/net.py",) * n,
        source_line=np.full(n, 7, np.int32),
        frame=np.full(n, -1, np.int32),
    )
    lines = compute_source_lines(results.trace, told, sums=results.op_sums)
    (entry,) = np.flatnonzero(lines.entries["file"] == "/home/me/net.py")
    assert lines.entries["line"][entry] == 7
    charged = {shares.name[i] for i in np.flatnonzero(lines.op_entry == entry)}
    assert any("conv2d" in name for name in charged)
    assert not any("adam" in name or "Iterator" in name for name in charged)


def test_callers_in_a_compiled_program_lead_to_the_users_line(ran: ResultsOf) -> None:
    results = Analysis(ran("compiled").trace)
    n = len(results.op_shares)
    frames = Frames(
        parent=np.array([1, -1, 3, 2], np.int32),
        file=("/x/site-packages/tensorflow/python/ops/nn.py", "/home/me/net.py", "/a.py", "/b.py"),
        line=np.array([1, 8, 1, 1], np.int32),
        function=("matmul", "call", "a", "b"),
    )
    told = replace(results.op_shares, frames=frames, frame=np.zeros(n, np.int32))
    lines = compute_source_lines(results.trace, told, sums=results.op_sums)
    assert {8} == set(lines.entries["line"][lines.entries["bucket"] == ""])
    circle = replace(told, frame=np.full(n, 2, np.int32))
    assert (compute_source_lines(results.trace, circle, sums=results.op_sums).entries["bucket"] != "").all()


def test_a_map_without_any_reference_charges_all_to_buckets(ran: ResultsOf) -> None:
    results = ran("sequential")
    known = results.source_map
    assert known is not None
    cut = replace(
        known,
        ops=known.ops.assign(graph=-1, frame=-1),
        frames=known.frames.assign(file=-1),
        functions=known.functions.iloc[:0],
        layers=known.layers.assign(file=-1),
        samples=known.samples.assign(frame=-1),
    )
    lines = Analysis(results.trace, cut).source_lines
    assert (lines.entries["bucket"] != "").all()
    assert lines.frame["self_time_us"].sum() == pytest.approx(results.ops["total_self_time_us"].sum())
    strange = replace(known, frames=known.frames.assign(file=-1), files=known.files.iloc[:0])
    strange = replace(strange, functions=known.functions.assign(file=-1), layers=known.layers.assign(file=-1))
    assert Analysis(results.trace, strange).source_lines.frame["self_time_ratio"].sum() == pytest.approx(1.0)


def _entry(results: Analysis, code: str) -> int:
    (entry,) = np.flatnonzero(results.source_lines.entries["code"].str.contains(code, regex=False))
    return int(entry)
