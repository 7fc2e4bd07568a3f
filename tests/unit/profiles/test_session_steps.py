"""Which runs of a session of TensorFlow 1 the hook profiles, and how it counts their steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.profiles.sessions import run

pytestmark = pytest.mark.tensorflow


def test_steps_are_chosen_by_range_by_rule_by_number_and_by_time() -> None:
    out = run(
        """
        out["range"] = steps(trained(tfprof.ProfilerHook(steps=range(5, 8))).profile)
        out["rule"] = steps(trained(tfprof.ProfilerHook(steps=lambda step: step in (2, 9))).profile)
        out["every"] = steps(trained(tfprof.ProfilerHook(save_steps=4)).profile)
        out["seconds"] = steps(trained(tfprof.ProfilerHook(save_secs=1e-9), n=4).profile)
        out["seldom"] = trained(tfprof.ProfilerHook(save_secs=1e9)).profile.run.own_notices
        out["all"] = steps(trained(tfprof.ProfilerHook(), n=3).profile)
        """
    )
    assert out == {
        "range": [5, 6, 7],
        "rule": [2, 9],
        "every": [5, 9],
        "seconds": [2, 3, 4],
        "seldom": [],
        "all": [1, 2, 3],
    }


def test_runs_between_training_steps_are_left_out_and_shift_no_number(tmp_path: Path) -> None:
    out = run(
        f"""
        asked = []
        graph, train = built()
        hook = tfprof.ProfilerHook(steps=lambda s: asked.append(s) or 20 <= s < 25, output_dir={str(tmp_path)!r})
        with graph.as_default(), session(hook) as running:
            for _ in range(30):
                running.run(train)
                running.run("Mean:0")
        out["steps"], out["notices"] = steps(hook.profile), hook.profile.run.own_notices
        out["asked_once"] = sorted(asked) == sorted(set(asked))
        graph = hook.profile.run.results.op_graph
        named = graph.runs.assign(name=graph.ops.name.to_numpy()[graph.runs.op])
        out["forward"] = named[named.name == "product"].n_runs.tolist()
        out["updates"] = named[named.name.str.startswith("GradientDescent/")].step.nunique()
        """
    )
    assert out["steps"] == [20, 21, 22, 23, 24]
    assert out["asked_once"]
    assert out["forward"] == [1] * 5
    assert out["updates"] == 5
    (notice,) = out["notices"]
    assert notice.startswith("5 of 10 profiled runs did not advance the global step")
    assert sorted(int(path.stem[13:]) for path in tmp_path.glob("run_metadata-*.pb")) == out["steps"]


def test_runs_before_the_first_training_step_are_left_out_and_their_files_go(tmp_path: Path) -> None:
    out = run(
        f"""
        graph, train = built()
        hook = tfprof.ProfilerHook(output_dir={str(tmp_path)!r})
        with graph.as_default(), session(hook) as running:
            for fetch in ("Mean:0",) * 3 + (train,) * 2:
                running.run(fetch)
        out["steps"], out["notices"] = steps(hook.profile), hook.profile.run.own_notices
        variables = hook.profile.variables
        out["n_params"] = int(variables[variables.trainable].n_params.sum())
        """
    )
    assert out["steps"] == [1, 2]
    assert out["n_params"] == 36
    assert out["notices"][0].startswith("3 of 5 profiled runs did not advance the global step")
    assert sorted(path.name for path in tmp_path.glob("run_metadata-*.pb")) == [
        "run_metadata-1.pb",
        "run_metadata-2.pb",
    ]


def test_a_session_that_goes_on_from_a_checkpoint_goes_on_counting(tmp_path: Path) -> None:
    out = run(
        f"""
        for _ in range(2):
            hook = tfprof.ProfilerHook(steps=range(6, 9))
            graph, train = built()
            with graph.as_default(), v1.train.MonitoredTrainingSession(
                checkpoint_dir={str(tmp_path)!r}, hooks=[hook], save_summaries_steps=None, save_summaries_secs=None
            ) as running:
                for _ in range(5):
                    running.run(train)
        out["steps"] = steps(hook.profile)
        """
    )
    assert out["steps"] == [6, 7, 8]


def test_nothing_is_said_of_the_time_between_profiled_runs_which_nobody_recorded() -> None:
    """Runs that were not asked for lie there, and the hook, which reads the graph and writes files."""
    out = run(
        """
        import time
        for name, options in (("seldom", dict(save_steps=4)), ("in_a_row", dict(steps=range(2, 8)))):
            graph, train = built()
            hook = tfprof.ProfilerHook(**options)
            keep = tfprof.capture.v1.SessionCapture.keep
            with graph.as_default(), session(hook) as running:
                hook._captures[-1].keep = lambda *given, capture=hook._captures[-1]: (time.sleep(0.1), keep(capture, *given))
                for _ in range(20):
                    running.run(train)
            seen = hook.profile.overview
            out[name] = [seen.n_steps, seen.verdict, seen.covered_ratio]
        """
    )
    assert (out["seldom"][0], out["in_a_row"][0]) == (4, 6)
    for _, verdict, covered_ratio in out.values():
        assert "outside of" not in verdict
        assert covered_ratio == 1
