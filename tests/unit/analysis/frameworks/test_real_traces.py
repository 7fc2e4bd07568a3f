"""Real traces of JAX and PyTorch/XLA: their steps against a clock of the program itself, their ops, and the words about them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfprof_widgets.analysis import Fix, fitting
from tfprof_widgets.loading import load_profile
from tfprof_widgets.profiles import Profile

NAMES = ("jax_marked", "jax_h100_unmarked", "torch_xla_unmarked")
CaptureOf = Callable[[str], Path]
OF_TENSORFLOW = re.compile(r"\btf\b|keras|tensorflow|dataset|tf\.data|on_train_batch|model\.fit|TF_", re.I)


def opened(capture_of: CaptureOf, name: str) -> tuple[Profile, dict[str, Any]]:
    """A profile, and what the program's own clock measured, in milliseconds."""
    path = capture_of(name)
    clock: dict[str, Any] = json.loads((path.parents[3] / "clock.json").read_text(encoding="utf-8"))
    return load_profile(path), clock


def test_steps_that_jax_marked_last_until_their_work_has_run(capture_of: CaptureOf) -> None:
    prof, clock = opened(capture_of, "jax_marked")
    steps = prof.steps
    assert steps["name"].tolist() == [f"train {i}" for i in range(12)]
    assert (steps["source"] == "marker").all()
    assert steps["step_time_ms"].sum() == pytest.approx(clock["total_ms"], rel=0.02)
    # The program never waits: its calls take a fiftieth of the time, and so do XProf's steps.
    assert sum(clock["wall_ms"]) < 0.03 * clock["total_ms"]
    assert (steps["start_ms"].diff().dropna() >= steps["step_time_ms"].iloc[:-1].to_numpy() - 1e-6).all()


def test_each_run_of_a_program_belongs_to_its_call(capture_of: CaptureOf) -> None:
    prof, _ = opened(capture_of, "jax_marked")
    trace, steps = prof.trace, prof.run.results.steps
    rows = np.flatnonzero(trace.has_stat("hlo_op"))
    runs, run = np.unique(trace.int_stat("run_id")[rows], return_inverse=True)
    assert len(runs) == 12
    of_run = [set(steps.event_step[rows[run == i]].tolist()) for i in range(len(runs))]
    assert sorted(map(len, of_run)) == [1] * 12
    assert set.union(*of_run) == set(range(12))
    assert steps.is_work[rows].all()


def test_steps_that_nobody_marked_go_from_run_to_run_on_the_device(capture_of: CaptureOf) -> None:
    prof, clock = opened(capture_of, "jax_h100_unmarked")
    steps = prof.steps
    assert steps["name"].tolist() == [f"train_step {i}" for i in range(12)]
    assert (steps["source"] == "inferred").all()
    # From the first kernel of one run to that of the next lies the next iteration of the program.
    measured = np.array(clock["wall_ms"])
    np.testing.assert_allclose(steps["step_time_ms"].iloc[1:11], measured[2:], atol=0.1)
    assert not prof.overview.is_averaged[-1]  # nothing begins after it
    assert prof.overview.step_time_avg_ms == pytest.approx(measured[1:].mean(), rel=0.03)
    assert steps["device_compute_ms"].iloc[:-1].between(0.3, 0.4).all()


def test_kernels_of_jax_are_those_that_xprof_has(capture_of: CaptureOf) -> None:
    prof, _ = opened(capture_of, "jax_h100_unmarked")
    # XProf 2.24.2: 23 rows of 4288.111 us in all; it has no step of this trace, and hlo_stats is empty.
    assert len(prof.kernels) == 23
    assert prof.kernels["total_time_us"].sum() == pytest.approx(4288.111, abs=1e-3)
    assert prof.hlo_ops["module"].tolist() == ["jit_train_step"]


def test_steps_of_pytorch_go_from_sync_to_sync(capture_of: CaptureOf) -> None:
    prof, clock = opened(capture_of, "torch_xla_unmarked")
    steps, measured = prof.steps, np.array(clock["wall_ms"])
    assert steps["name"].tolist() == [f"SyncTensorsGraph {i}" for i in range(12)]
    assert (steps["source"] == "inferred").all()
    assert steps["step_time_ms"].iloc[:11].sum() == pytest.approx(measured[:11].sum(), rel=0.03)
    assert prof.ops["name"].str.startswith("dot").any()


@pytest.mark.parametrize("name", NAMES)
def test_no_word_tells_to_change_what_only_tensorflow_has(capture_of: CaptureOf, name: str) -> None:
    prof, _ = opened(capture_of, name)
    told = [prof.overview.verdict, prof.overview.verdict_detail, *prof.overview.next_steps]
    for one in prof.advice:
        told += [one.headline, one.title, str(one.fix)]
    told += [line for text in (prof.text(), prof.report()) for line in text.splitlines() if "a trace of" not in line]
    assert [text for text in told if OF_TENSORFLOW.search(text.replace("tfprof", ""))] == []


def test_every_other_fix_is_of_its_framework(capture_of: CaptureOf) -> None:
    prof, _ = opened(capture_of, "jax_h100_unmarked")
    (known, *_) = prof.advice
    made = [
        replace(known, rule=rule, fix=Fix("tf.function"))
        for rule in ("idle_border", "output_bound", "h2d_bound", "retracing")
    ]
    assert [one.rule for one in fitting(made, "JAX")] == ["idle_border", "output_bound", "h2d_bound"]
    assert [one.rule for one in fitting(made, "PyTorch/XLA")] == ["idle_border", "output_bound"]
    assert list(fitting(made, "TensorFlow")) == made
    assert not OF_TENSORFLOW.search(
        "".join(str(one.fix) for kind in ("JAX", "PyTorch/XLA") for one in fitting(made, kind))
    )
