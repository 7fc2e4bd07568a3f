"""Files of pprof's format: read by messages that are not ours they have the totals of the tree, whatever view and options."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfprof_widgets as tfprof
from tests.builders import event, line, plane, trace
from tests.unit.export.first_profiler_run import FIGURES
from tests.unit.export.pprof_reader import Read, messages, read_pprof
from tfprof_widgets.analysis import Analysis, TreeView, build_tree, make_tree_options
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.export import write_pprof
from tfprof_widgets.trace import OpGraph, make_op_graph

VIEWS = get_args(TreeView)
# name, type, row of the frame, us, us on the device, bytes, shape of a variable
OPS = [
    ("net/dense/kernel", "VariableV2", 1, 1.0, 0.0, 0, (3, 4)),
    ("net/dense/MatMul", "MatMul", 2, 10.25, 7.5, 100, None),
    ("net/dense/BiasAdd", "BiasAdd", 2, 0.25, 0.0, 40, None),
    ("net/MatMul", "MatMul", 3, 5.125, 0.0, 8, None),
    ("gradients/net/dense/MatMul_grad/MatMul", "MatMul", 1, 20.0, 15.0, 200, None),
    ("<b>é\ud800", "Evil\n", 0, 0.0625, 0.0, 0, None),
    ("_SOURCE", "NoOp", -1, 2.0, 0.0, 0, None),
    ("never", "NoOp", 0, 0.0, 0.0, 0, None),
]
# parent, file, line, function, first line of the function
FRAMES = [
    (-1, "train.py", 30, "<module>", 1),
    (0, "lib/model.py", 12, "build", 10),
    (1, "lib/layers.py", 7, "dense_layer_with_a_long_name", 5),
    (0, "lib/model.py", 14, "build", 10),
]


def graph_of(ops: list[tuple[Any, ...]] = OPS, *, is_capture: bool = True) -> OpGraph:
    """What the ops above cost in one step, each fed by the one before."""
    n = len(ops)
    us = {False: [one[3] - one[4] for one in ops], True: [one[4] for one in ops]}
    times = [(row, is_device, value) for is_device, values in us.items() for row, value in enumerate(values) if value]
    if not is_capture:
        times = [(row, is_device, float(round(value))) for row, is_device, value in times]
    zero = [0] * n
    memory = {"op": range(n), "step": zero, "time_us": zero, "requested_bytes": [one[5] for one in ops]}
    names = ("peak", "residual", "output", "accelerator_temp", "host_temp", "accelerator_persistent", "host_persistent")
    rest = {f"{name}_bytes": zero for name in (*names, "in_use")}
    return make_op_graph(
        {
            "ops": {
                "name": [one[0] for one in ops],
                "type": [one[1] for one in ops],
                "op_types": [(one[1],) for one in ops],
                "device": ["/device:GPU:0" if one[4] else "/device:CPU:0" for one in ops],
                "host_device": ["/device:CPU:0"] * n,
                "float_ops": zero,
                "shape": [one[6] for one in ops],
                "frame": [one[2] for one in ops],
            },
            "inputs": {
                "op": range(1, n),
                "slot": [0] * (n - 1),
                "source": range(n - 1),
                "source_output": [0] * (n - 1),
            },
            "frames": {
                **{key: [one[i] for one in FRAMES] for i, key in enumerate(("parent", "file", "line", "function"))},
                "function_line": [one[4] for one in FRAMES],
                "text": ["x = dense(x)"] * len(FRAMES),
            },
            "runs": {"op": range(n), "step": zero, "n_runs": [1] * n, "start_us": zero, "end_us": zero},
            "times": {
                "op": [row for row, *_ in times],
                "step": [0] * len(times),
                "device": ["GPU" if is_device else "CPU" for _, is_device, _ in times],
                "is_accelerator": [is_device for _, is_device, _ in times],
                "start_us": [0.0] * len(times),
                "duration_us": [value for *_, value in times],
            },
            "memory": {**memory, **rest},
        },
        is_whole=not is_capture,
        counts_steps=not is_capture,
    )


def results_of(graph: OpGraph) -> Analysis:
    drawn = trace(plane("/host:CPU", line("main", event("train", 10, 90, _r=1, step_num=0))))
    return Analysis(drawn, stored_graph=graph)


def written(path: Path, graph: OpGraph, view: TreeView, **options: Any) -> Read:
    return read_pprof(write_pprof(results_of(graph), path / "costs.pb.gz", view, options))


def root_totals(graph: OpGraph, view: TreeView, names: list[str], **options: Any) -> dict[str, int]:
    tree = build_tree(graph, view, make_tree_options(**options))
    return {name: round(float(tree.column(name, is_total=True)[0])) for name in names}


OPTIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "two levels": {"max_depth": 2},
    "nothing but the root": {"max_depth": 0},
    "costly ones": {"min_micros": 6},
    "one type": {"account_type_regexes": "MatMul"},
    "from the middle": {"start_name_regexes": [".*dense.*"]},
    "trimmed": {"trim_name_regexes": "net.*"},
    "shown": {"show_name_regexes": ".*MatMul.*"},
    "hidden": {"hide_name_regexes": ".*dense.*"},
    "what is displayed": {"account_displayed_op_only": True, "max_depth": 2},
    "one step": {"step": 0},
    "by time": {"order_by": "micros"},
}


@pytest.mark.parametrize("is_capture", [True, False], ids=["capture", "old file"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("options", OPTIONS)
def test_totals_are_those_of_the_root_of_the_tree(
    options: str, view: TreeView, is_capture: bool, tmp_path: Path
) -> None:
    graph, chosen = graph_of(is_capture=is_capture), OPTIONS[options]
    if view == "code":
        chosen = {key: value for key, value in chosen.items() if key != "account_displayed_op_only"}
    read = written(tmp_path, graph, view, **chosen)
    assert read.totals() == root_totals(graph, view, list(read.units), **chosen)


def test_the_sample_types_are_those_of_tfprof_with_their_units(tmp_path: Path) -> None:
    read = written(tmp_path, graph_of(), "code")
    assert read.units == {"micros": "microseconds", "accelerator_micros": "microseconds", "bytes": "bytes"}
    assert read.default == "micros"


def test_what_is_selected_comes_besides_and_its_first_figure_is_the_default(tmp_path: Path) -> None:
    read = written(tmp_path, graph_of(), "scope", select=["params", "occurrence", "device"])
    assert list(read.units) == ["micros", "accelerator_micros", "bytes", "params", "occurrence"]
    assert read.default == "params"
    assert read.totals()["params"] == 12
    assert read.totals() == root_totals(graph_of(), "scope", list(read.units))
    texts = read.profile.string_table
    labels = {(texts[one.key], texts[one.str]) for sample in read.profile.sample for one in sample.label}
    assert labels == {("device", "/device:CPU:0"), ("device", "/device:GPU:0")}


def test_code_stacks_are_the_python_lines_with_the_op_that_costs_at_the_innermost(tmp_path: Path) -> None:
    read = written(tmp_path, graph_of(is_capture=False), "code")
    module, build = ("train.py", 30, "<module>", 1), ("lib/model.py", 12, "build", 10)
    dense = ("lib/layers.py", 7, "dense_layer_with_a_long_name", 5)
    by_stack = {stack: values["bytes"] for stack, (_, values) in zip(read.lines, read.samples, strict=True)}
    assert by_stack[module, build, dense] == 140
    gradient = tuple(
        (file, at, f"{function} (gradient)", start) for file, at, function, start in (module, build, dense)
    )
    assert by_stack[gradient] == 200


def test_ops_without_a_call_stack_have_one_that_says_so_or_are_counted_in_a_comment(tmp_path: Path) -> None:
    assert dict(written(tmp_path, graph_of(), "code").samples)[("<no call stack>",)]["micros"] == 2
    old = written(tmp_path, graph_of(is_capture=False), "code").profile
    comments = [old.string_table[number] for number in old.comment]
    assert any(one.startswith("1 of 8 ops have no known call stack") for one in comments)


def test_an_old_file_without_any_call_stack_has_all_its_costs_at_a_place_that_says_so(tmp_path: Path) -> None:
    graph = graph_of([(*one[:2], -1, *one[3:]) for one in OPS], is_capture=False)
    read = written(tmp_path, graph, "code")
    assert [stack for stack, _ in read.samples] == [("<no call stack>",)]
    assert read.totals() == root_totals(graph, "scope", list(read.units))


def test_stacks_are_parts_of_the_name_types_or_what_feeds_what(tmp_path: Path) -> None:
    scopes = {stack for stack, _ in written(tmp_path, graph_of(), "scope").samples}
    assert {("net", "dense", "MatMul"), ("gradients", "net", "dense", "MatMul_grad", "MatMul")} <= scopes
    every = written(tmp_path, graph_of(), "scope", select="occurrence").samples
    assert "<b>é\\ud800" in {stack[0] for stack, _ in every}, "a name that is not UTF-8"
    types = {stack: value["bytes"] for stack, value in written(tmp_path, graph_of(), "op").samples}
    assert types[("MatMul",)] == 308
    assert all(len(stack) == 1 for stack in types)
    chains = [stack for stack, _ in written(tmp_path, graph_of(), "graph").samples]
    assert max(chains, key=len)[-1] == "net/dense/kernel"


def test_a_long_chain_is_cut_and_counts_at_the_last_op_shown(tmp_path: Path) -> None:
    graph = graph_of([(f"op{i}", "Add", -1, 1.0, 0.0, 1, None) for i in range(300)])
    read = written(tmp_path, graph, "graph")
    assert max(len(stack) for stack, _ in read.samples) < 120
    assert read.totals()["micros"] == 300
    assert any("of 301 nodes are shown" in text for text in read.profile.string_table)


def test_what_the_root_alone_counts_has_a_stack_of_its_own(tmp_path: Path) -> None:
    read = written(tmp_path, graph_of(), "scope", show_name_regexes="nothing like it")
    assert [stack for stack, _ in read.samples] == [("<not shown>",)]


@settings(max_examples=30)
@given(st.lists(st.floats(0, 3, allow_subnormal=False), min_size=1, max_size=60))
def test_short_ops_keep_their_share_of_the_total(tmp_path_factory: pytest.TempPathFactory, us: list[float]) -> None:
    ops = [(f"a{i % 7}/b{i % 3}/op{i}", "Add", -1, value, 0.0, 0, None) for i, value in enumerate(us)]
    graph = graph_of(ops)
    read = written(tmp_path_factory.mktemp("pprof"), graph, "scope")
    assert read.totals().get("micros", 0) == root_totals(graph, "scope", ["micros"])["micros"]
    assert all(value["micros"] >= 0 for _, value in read.samples)
    for scope in {name.split("/")[0] for name, *_ in ops}:
        expected = sum(one[3] for one in ops if one[0].startswith(f"{scope}/"))
        assert abs(sum(value["micros"] for stack, value in read.samples if stack[0] == scope) - expected) <= 1


def test_a_profile_without_ops_is_a_file_without_samples(tmp_path: Path) -> None:
    for view in VIEWS:
        read = written(tmp_path, make_op_graph({}), view)
        assert (read.samples, list(read.units)) == ([], ["micros", "accelerator_micros", "bytes"])


def test_the_same_profile_gives_the_same_bytes(tmp_path: Path) -> None:
    first, again = (write_pprof(results_of(graph_of()), tmp_path / name, "code", {}) for name in ("a.pb.gz", "b.prof"))
    assert first.read_bytes() == again.read_bytes()
    assert first.read_bytes()[:2] == b"\x1f\x8b"


def test_an_option_that_means_nothing_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "costs.pb.gz"
    path.write_bytes(b"before")
    with pytest.raises(TypeError, match="max_dept"):
        write_pprof(results_of(graph_of()), path, "code", {"max_dept": 1})
    with pytest.raises(ValueError, match="step 7"):
        write_pprof(results_of(graph_of()), path, "code", {"step": 7})
    assert path.read_bytes() == b"before"


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TfProfError, match="cannot be written"):
        write_pprof(results_of(graph_of()), tmp_path / "file" / "costs.pb.gz", "code", {})


def test_times_of_the_trace_are_in_the_file(tmp_path: Path) -> None:
    results = results_of(graph_of())
    profile = read_pprof(write_pprof(results, tmp_path / "costs.pb.gz", "code", {})).profile
    assert profile.duration_nanos == 90_000
    assert profile.time_nanos == results.trace.origin_ns


def profile_of(folder: Path, form: str) -> tfprof.Profile:
    if form == "profile.context":
        return tfprof.load(folder / form)
    steps = {int(path.stem.partition("-")[2]): path.read_bytes() for path in folder.glob("step-*.pb")}
    graph, op_log = ((folder / name).read_bytes() for name in ("graph.pb", "op_log.pb"))
    return tfprof.from_run_metadata(steps, graph=graph, op_log=op_log)


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("form", ["profile.context", "RunMetadata"])
def test_totals_of_old_files_are_those_of_tfprofs_own_pprof_file(
    form: str, figure: str, first_profiler: Path, tmp_path: Path
) -> None:
    own = messages().Profile()
    own.ParseFromString(gzip.decompress((first_profiler / "tfprof" / f"{figure}.pb.gz").read_bytes()))
    prof = profile_of(first_profiler / "tfprof", form)
    read = read_pprof(prof.to_pprof(tmp_path / "costs.pb.gz", select=figure))
    assert read.totals()[figure] == sum(sample.value[1] for sample in own.sample) > 0


@pytest.mark.tensorflow
@pytest.mark.parametrize("view", VIEWS)
def test_totals_of_a_keras_capture_are_those_of_its_ops(
    view: TreeView, capture_of: Callable[[str], Path], tmp_path: Path
) -> None:
    prof = tfprof.load(capture_of("nested_fit"))
    read = read_pprof(prof.to_pprof(tmp_path / "costs.pb.gz", view))
    assert read.totals()["micros"] == round(prof.ops["total_self_time_us"].sum())
    assert read.totals()["bytes"] == prof.tree(view)["total_bytes"].iloc[0] > 0
    if view == "code":
        files = {Path(line[0]).name for stack in read.lines for line in stack}
        assert {"own_captures.py", "trainer.py"} <= files


def test_no_tensorflow_is_needed() -> None:
    code = "import sys, tfprof_widgets.export.pprof as p\np.Tables()\nassert 'tensorflow' not in sys.modules\n"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=120)
