"""Sessions of TensorFlow 1 under the hook, run for real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tfprof_widgets as tfprof
from tests.unit.profiles.sessions import run
from tfprof_widgets.errors import TraceError

pytestmark = pytest.mark.tensorflow


def test_a_profile_knows_ops_stacks_variables_and_float_operations() -> None:
    out = run(
        """
        graph, train = built()
        hook = tfprof.ProfilerHook(steps=range(3, 5))
        with graph.as_default(), session(hook) as running:
            for _ in range(4):
                running.run(train)
        profile = hook.profile
        variables = profile.variables
        out["trained"] = variables[variables.trainable].set_index("name").n_params.to_dict()
        own = profile.run.results.op_graph
        out["float_ops"] = int(own.ops.set_index("name").float_ops["Square"])
        out["frames"] = len(own.frames) > 0
        out["n_steps"] = len(profile.steps)
        out["ops"] = len(profile.ops) > 0
        out["tree"] = len(profile.tree("scope")) > 10
        out["notices"] = profile.run.own_notices
        out["shape"] = graph.get_tensor_by_name("x:0").shape.as_list()
        """
    )
    # The batch is open in the graph, which is left so: a run tells it.
    assert out == {
        "trained": {"b": 4, "w": 32},
        "float_ops": 16 * 4,
        "frames": True,
        "n_steps": 2,
        "ops": True,
        "tree": True,
        "notices": [],
        "shape": [None, 8],
    }


def test_what_was_captured_stays_when_the_session_ends_by_an_exception() -> None:
    out = run(
        """
        hook = tfprof.ProfilerHook(steps=range(2, 100))
        graph, train = built()
        try:
            with graph.as_default(), session(hook) as running:
                for i in range(9):
                    if i == 5:
                        raise ValueError("over")
                    running.run(train)
        except BaseException as error:
            out["error"] = type(error).__name__
        out["steps"] = steps(hook.profile)
        """
    )
    assert out == {"error": "ValueError", "steps": [2, 3, 4, 5]}


def test_ctrl_c_within_a_run_goes_to_the_user_and_leaves_the_steps_before_it() -> None:
    out = run(
        """
        hook = tfprof.ProfilerHook(steps=range(1, 100))
        graph, train = built()
        with graph.as_default():
            def interrupt():
                os.kill(os.getpid(), signal.SIGINT)
                return np.float32(0)
            interrupted = v1.py_func(interrupt, [], tf.float32)
        try:
            with graph.as_default(), session(hook) as running:
                for _ in range(3):
                    running.run(train)
                for _ in range(100):
                    running.run(interrupted)
        except KeyboardInterrupt:
            out["error"] = "KeyboardInterrupt"
        out["steps"] = steps(hook.profile)[:3]
        """
    )
    assert out == {"error": "KeyboardInterrupt", "steps": [1, 2, 3]}


def test_a_run_that_fails_fails_as_without_the_hook() -> None:
    out = run(
        """
        hook = tfprof.ProfilerHook(steps=range(1, 100))
        graph, train = built()
        with graph.as_default():
            broken = tf.matmul(v1.placeholder_with_default(np.ones((2, 2), "f4"), (None, None)), tf.ones((3, 3)))
        try:
            with graph.as_default(), session(hook) as running:
                running.run(train)
                running.run(broken)
        except tf.errors.InvalidArgumentError as error:
            out["error"] = type(error).__name__
        out["steps"] = steps(hook.profile)
        """
    )
    assert out == {"error": "InvalidArgumentError", "steps": [1]}


def test_it_can_be_read_while_the_session_runs() -> None:
    out = run(
        """
        hook = tfprof.ProfilerHook(steps=range(1, 100))
        graph, train = built()
        out["before"] = ""
        try:
            hook.profile.ops
        except tfprof.EmptyTraceError as error:
            out["before"] = str(error)
        with graph.as_default(), session(hook) as running:
            running.run(train)
            first = hook.profile
            out["first"] = steps(first)
            running.run(train)
            out["second"] = steps(hook.profile)
        out["kept"] = steps(first)
        out["same"] = hook.profile is hook.profile
        """
    )
    assert "pass the hook to a session" in out.pop("before")
    assert out == {"first": [1], "second": [1, 2], "kept": [1], "same": True}


@pytest.mark.parametrize(("chosen", "ending"), [("range(2, 4)", "pass"), ("range(90, 94)", "raise ValueError")])
def test_the_hook_does_not_keep_the_graph_alive(chosen: str, ending: str) -> None:
    out = run(
        f"""
        hook = tfprof.ProfilerHook(steps={chosen})
        def work():
            graph, train = built()
            try:
                with graph.as_default(), session(hook) as running:
                    for _ in range(4):
                        running.run(train)
                    {ending}
            except ValueError:
                pass
            return weakref.ref(graph)
        kept = work()
        v1.reset_default_graph()
        gc.collect()
        out["is_kept"] = kept() is not None
        out["n_params"] = 0
        try:
            variables = hook.profile.variables
            out["n_params"] = int(variables[variables.trainable].n_params.sum())
        except tfprof.EmptyTraceError:
            pass
        """
    )
    assert out == {"is_kept": False, "n_params": 36 if chosen == "range(2, 4)" else 0}


def test_files_are_there_as_they_come_and_after_a_crash(tmp_path: Path) -> None:
    run(
        f"""
        hook = tfprof.ProfilerHook(steps=range(1, 100), output_dir={str(tmp_path / "deep" / "dir")!r})
        graph, train = built()
        with graph.as_default(), session(hook) as running:
            running.run(train)
            running.run(train)
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        may_fail=True,
    )
    names = sorted(path.name for path in (tmp_path / "deep" / "dir").iterdir())
    assert names == ["graph.pb", "run_metadata-1.pb", "run_metadata-2.pb", "tfprof_log"]
    profile = tfprof.load(tmp_path / "deep" / "dir")
    assert profile.run.results.op_graph.steps == [1, 2]
    assert profile.variables["n_params"][profile.variables["trainable"]].sum() == 36


def test_the_files_give_the_profile_again_and_those_that_cannot_be_written_are_a_notice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    out = run(
        f"""
        hook = trained(tfprof.ProfilerHook(steps=range(3, 6), output_dir={str(tmp_path / "dir")!r}))
        made, read = hook.profile, tfprof.load({str(tmp_path / "dir")!r})
        out["different"] = same(made.run.results.op_graph, read.run.results.op_graph)
        out["ops"] = made.ops.equals(read.ops)
        out["steps"] = made.steps.equals(read.steps)
        out["variables"] = made.variables.equals(read.variables)
        saved = made.save({str(tmp_path / "saved")!r})
        out["saved"] = same(made.run.results.op_graph, tfprof.load(saved).run.results.op_graph)
        blocked = tfprof.ProfilerHook(steps=range(2, 4), output_dir={str(tmp_path / "file" / "below")!r})
        out["blocked"] = [steps(trained(blocked).profile), blocked.profile.run.own_notices]
        """
    )
    numbers, notices = out.pop("blocked")
    assert numbers == [2, 3]
    assert any("could not be written" in notice for notice in notices)
    assert out == {"different": [], "ops": True, "steps": True, "variables": True, "saved": []}


def test_the_tasks_of_a_distributed_session_stay_apart() -> None:
    out = run(
        """
        import socket
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0)), two.bind(("127.0.0.1", 0))
            ports = one.getsockname()[1], two.getsockname()[1]
        cluster = tf.train.ClusterSpec({"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{ports[1]}"]})
        servers = [tf.distribute.Server(cluster, job_name=job, task_index=0) for job in ("ps", "worker")]
        hook = tfprof.ProfilerHook(steps=range(2, 4))
        with tf.Graph().as_default() as graph:
            with tf.device("/job:ps"):
                w = v1.get_variable("w", (8, 4), use_resource=False)
            with tf.device("/job:worker"):
                product = tf.matmul(tf.ones((2, 8)), w, name="product")
            step = v1.train.get_or_create_global_step()
            train = tf.group(product, v1.assign_add(step, 1))
            with session(hook, master=servers[1].target) as running:
                for _ in range(4):
                    running.run([train, product])
        ops = hook.profile.run.results.op_graph.ops.set_index("name")
        out["devices"] = [ops.device["product"], ops.device["w"]]
        out["steps"] = steps(hook.profile)
        print('\\n@@' + json.dumps(out), flush=True)
        os._exit(0)  # servers have no end
        """
    )
    assert "/job:worker" in out["devices"][0]
    assert "/job:ps" in out["devices"][1]
    assert out["steps"] == [2, 3]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"save_steps": 1, "save_secs": 1}, ValueError, "save_steps and save_secs"),
        ({"save_steps": 0}, ValueError, "save_steps=0"),
        ({"save_secs": "1"}, TypeError, "save_secs='1'"),
        ({"save_steps": True}, TypeError, "save_steps=True"),
        ({"steps": range(0)}, ValueError, "steps"),
        ({"steps": 3}, TypeError, "steps"),
        ({"max_steps": -1}, ValueError, "max_steps=-1"),
        ({"output_dir": 3}, TypeError, "output_dir=3"),
    ],
)
def test_arguments_that_mean_nothing_are_told_of(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        tfprof.ProfilerHook(**arguments)


def test_metadata_of_a_session_make_the_same_profile_as_messages_or_bytes() -> None:
    out = run(
        """
        graph, train = built()
        runs = {}
        with graph.as_default(), v1.Session() as running:
            running.run(v1.global_variables_initializer())
            for step in (3, 4):
                runs[step] = v1.RunMetadata()
                running.run(train, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run_metadata=runs[step])
        made = tfprof.from_run_metadata(runs, graph=graph)
        out["steps"] = steps(made)
        ops = made.run.results.op_graph.ops.set_index("name")
        out["float_ops"] = int(ops.float_ops["Square"])
        from tensorflow.python.profiler import tfprof_logger
        whole = tfprof_logger.merge_default_with_oplog(built()[0], None, runs[3])
        wanted = {entry.name: entry.float_ops for entry in whole.log_entries if entry.float_ops}
        out["as_tfprof"] = ops.float_ops[ops.float_ops > 0].to_dict() == wanted
        as_bytes = {step: one.SerializeToString() for step, one in runs.items()}
        definition = graph.as_graph_def(add_shapes=True)
        a = tfprof.from_run_metadata(as_bytes, graph=definition).run.results.op_graph
        b = tfprof.from_run_metadata(runs, graph=definition.SerializeToString()).run.results.op_graph
        out["different"] = same(a, b)
        out["one"] = steps(tfprof.from_run_metadata(runs[3]))
        from tensorflow.core.profiler import tfprof_log_pb2
        log = tfprof_log_pb2.OpLogProto()
        log.log_entries.add(name="product", float_ops=7, types=["mine"])
        ops = tfprof.from_run_metadata(runs[3], graph=graph, op_log=log).run.results.op_graph.ops.set_index("name")
        out["own"] = [int(ops.float_ops["product"]), "mine" in ops.op_types["product"], bool(ops.frame["product"] >= 0)]
        """
    )
    assert out == {
        "steps": [3, 4],
        "float_ops": 16 * 4,
        "different": [],
        "one": [0],
        "as_tfprof": True,
        "own": [7, True, True],
    }


def test_what_is_no_metadata_is_told_of() -> None:
    with pytest.raises(TypeError, match="run_metadata is a int"):
        tfprof.from_run_metadata(3)
    with pytest.raises(TypeError, match="graph is a str"):
        tfprof.from_run_metadata(b"", graph="graph.pb")
    with pytest.raises(TypeError, match="no number of a step"):
        tfprof.from_run_metadata({"first": b""})
    for content in (b"", b"\xff" * 40, b"{}"):
        with pytest.raises(TraceError):
            tfprof.from_run_metadata(content)


def test_steps_are_chosen_by_range_by_rule_by_number_and_by_time() -> None:
    out = run(
        """
        out["range"] = steps(trained(tfprof.ProfilerHook(steps=range(5, 8))).profile)
        out["rule"] = steps(trained(tfprof.ProfilerHook(steps=lambda step: step in (2, 9))).profile)
        out["every"] = steps(trained(tfprof.ProfilerHook(save_steps=4)).profile)
        out["seconds"] = steps(trained(tfprof.ProfilerHook(save_secs=1e-9), n=4).profile)
        out["seldom"] = trained(tfprof.ProfilerHook(save_secs=1e9)).profile.run.own_notices
        out["all"] = steps(trained(tfprof.ProfilerHook(), n=3).profile)
        hook = tfprof.ProfilerHook(steps=range(1, 3))
        trained(hook, n=2), trained(hook, n=1)
        out["two sessions"] = [*map(steps, hook.profiles), steps(hook.profile)]
        """
    )
    assert out == {
        "range": [5, 6, 7],
        "rule": [2, 9],
        "every": [5, 9],
        "seconds": [2, 3, 4],
        "seldom": [],
        "all": [1, 2, 3],
        "two sessions": [[1, 2], [1], [1]],
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
