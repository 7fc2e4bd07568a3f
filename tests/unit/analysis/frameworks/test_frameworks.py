"""Traces of JAX and PyTorch/XLA, drawn and real: their steps, their words, what is not said of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import Event, event, line, plane, trace
from tests.layers import ROOT
from tfprof_widgets.analysis import Analysis, compute_steps, pool_links, unwrapped
from tfprof_widgets.loading import load_profile
from tfprof_widgets.profiles import Profile
from tfprof_widgets.trace import Trace

BEGIN, END = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"


def call(start: int, name: str = "train_step") -> list[Event]:
    """A call of a compiled function, which JAX records twice, one in the other."""
    return [event(f"PjitFunction({name})", start, 4), event(f"PjitFunction({name})", start, 4)]


def run(number: int, start: int, name: str = "train_step") -> list[Event]:
    """A run of its program on a pool's thread, of 20 us."""
    op = event("dot", start + 1, 18, hlo_op="dot", hlo_module=f"jit_{name}", program_id=1, run_id=number)
    return [event(BEGIN, start, 0), event("ThunkExecutor::Execute", start + 1, 18), op, event(END, start + 20, 0)]


def drawn(calls: list[list[Event]], runs: list[list[Event]]) -> Trace:
    """A Python thread and a thread of a pool."""
    return trace(plane("/host:CPU", line("python", *sum(calls, [])), line("pool", *sum(runs, []))))


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (trace(plane("/host:CPU")), "with tfprof.profile() as prof: model.fit(...)"),
        (trace(plane("/host:CPU", jax_version="0.10.2")), 'with jax.profiler.trace("logs"): ...'),
        (trace(plane("/device:GPU:0"), plane("/host:CPU", line("a", event("SyncTensorsGraph", 0, 1)))), "torch_xla."),
    ],
)
def test_where_no_memory_was_recorded_the_code_is_of_the_framework(found: Trace, code: str) -> None:
    remedy = Analysis(found).memory.remedy
    assert remedy is not None
    assert remedy.splitlines()[-1].startswith(code)


def test_calls_far_ahead_of_their_runs_are_steps_from_run_to_run() -> None:
    found = drawn([call(0), call(5), call(10), call(15)], [run(i, 30 * i + 2) for i in range(4)])
    steps = compute_steps(found)
    assert steps.frame["name"].tolist() == [f"train_step {i}" for i in range(4)]
    assert (steps.frame["start_ps"] / 1e6).tolist() == [3, 33, 63, 93]
    assert (steps.frame["duration_ps"] / 1e6).tolist() == [30, 30, 30, 18]
    assert steps.frame["is_complete"].tolist() == [True, True, True, False]
    ops = np.flatnonzero(found.has_stat("hlo_op"))
    assert steps.event_step[ops].tolist() == [0, 1, 2, 3]


def test_a_run_that_was_called_before_the_capture_is_no_call_s() -> None:
    found = drawn([call(25), call(35)], [run(7, 0), run(8, 40), run(9, 70)])
    source, target = pool_links(found)
    linked = zip(found.start_ps[source].tolist(), found.start_ps[target].tolist(), strict=True)
    # The first by the begin of its piece of work alone.
    assert sorted(linked) == [(0, 1_000_000), (25_000_000, 41_000_000), (35_000_000, 71_000_000)]


def test_functions_are_told_apart_by_their_programs() -> None:
    calls = [call(0), call(5, "<lambda>"), call(10), call(15, "jit(evaluate)")]
    runs = [run(1, 20), run(2, 50, "_lambda"), run(3, 80), run(4, 110, "evaluate")]
    found = drawn(calls, runs)
    source, target = pool_links(found)
    linked = zip(found.start_ps[target].tolist(), found.start_ps[source].tolist(), strict=True)
    assert [call for _, call in sorted(linked)] == [0, 5_000_000, 10_000_000, 15_000_000]


def test_a_marked_step_without_a_wait_lasts_until_its_work_has_run() -> None:
    marks = [[event("train", 10 * i, 5, _r=1, step_num=i), *call(10 * i + 1)[:1]] for i in range(3)]
    frame = compute_steps(drawn(marks, [run(i, 30 * i + 2) for i in range(3)])).frame
    assert (frame["start_ps"] / 1e6).tolist() == [0, 21, 51]
    assert ((frame["start_ps"] + frame["duration_ps"]) / 1e6).tolist() == [21, 51, 81]
    assert (frame["source"] == "marker").all()


@pytest.mark.parametrize(
    ("path", "scopes", "is_backward"),
    [
        ("jvp(loss)/dense_1", ("loss", "dense_1"), False),
        ("transpose(jvp(loss))/dense_1", ("loss", "dense_1"), True),
        ("jvp(loss)/dense_1/jit(relu)", ("loss", "dense_1"), False),
        ("jit(main)/vmap(encoder)/block", ("encoder", "block"), False),
        ("transpose(jvp())/dense", ("dense",), True),
        ("checkpoint(x)/transpose(y", ("x", "transpose(y"), False),
    ],
)
def test_what_jax_wraps_is_unwrapped(path: str, scopes: tuple[str, ...], is_backward: bool) -> None:
    assert unwrapped(path) == (scopes, is_backward)


NAMES = ("jax_marked", "jax_h100_unmarked", "torch_xla_unmarked")
CaptureOf = Callable[[str], Path]
OF_TENSORFLOW = re.compile(r"\btf\b|keras|tensorflow|dataset|tf\.data|on_train_batch|model\.fit|TF_", re.I)


def opened(capture_of: CaptureOf, name: str) -> tuple[Profile, dict[str, Any]]:
    """A profile, and what the program's own clock measured, in milliseconds."""
    path = capture_of(name)
    clock: dict[str, Any] = json.loads((path.parents[3] / "clock.json").read_text(encoding="utf-8"))
    return load_profile(path), clock


def test_kernels_of_jax_are_those_that_xprof_has(capture_of: CaptureOf) -> None:
    prof, _ = opened(capture_of, "jax_h100_unmarked")
    # XProf 2.24.2: 23 rows of 4288.111 us in all; it has no step of this trace, and hlo_stats is empty.
    assert len(prof.kernels) == 23
    assert prof.kernels["total_time_us"].sum() == pytest.approx(4288.111, abs=1e-3)
    assert prof.hlo_ops["module"].tolist() == ["jit_train_step"]


@pytest.mark.parametrize("name", NAMES)
def test_no_word_tells_to_change_what_only_tensorflow_has(capture_of: CaptureOf, name: str) -> None:
    prof, _ = opened(capture_of, name)
    told = [prof.overview.verdict, prof.overview.verdict_detail]
    for one in prof.advice:
        told += [one.headline, one.title, str(one.fix)]
    told += [line for text in (prof.text(), prof.report()) for line in text.splitlines() if "a trace of" not in line]
    assert [text for text in told if OF_TENSORFLOW.search(text.replace("tfprof", ""))] == []


TEXT = (ROOT / "docs/other_traces.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", TEXT, re.S)


def test_what_opens_a_trace_runs(
    capture_of: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jax_logs").symlink_to(capture_of("jax_marked").parents[3])
    (opening,) = [code for code in CODE if "tfprof.load" in code]
    exec(compile(opening, "other_traces.md", "exec"), {})
    assert "This is a trace of JAX 0.10.2" in capsys.readouterr().out
    assert (tmp_path / "jax.html").stat().st_size > 10_000
