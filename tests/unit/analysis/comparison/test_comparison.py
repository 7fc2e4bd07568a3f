"""`tfprof.diff` as a user holds it, and runs of one training with different numbers of workers."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.builders import Event, event
from tests.cluster import Cluster
from tests.html_reader import Seen
from tests.unit.analysis.comparison.drawn_runs import Run, with_times
from tests.unit.analysis.hosts.drawn_hosts import STEP_US, host, results_of
from tfprof_widgets.analysis import Analysis, RunDiff, verdict_of
from tfprof_widgets.capture import Answer
from tfprof_widgets.capturing import _profile_of
from tfprof_widgets.errors import EmptyTraceError
from tfprof_widgets.several_runs import ScalingRun, scaling_frame, scaling_sentence
from tfprof_widgets.trace import SourceMap, table_frame

NUMBERS = ["a_ms", "b_ms", "change_ms", "ratio"]
COUNTED = [*NUMBERS, "a_count", "b_count", "noise_ms", "state"]
COLUMNS = {
    "summary": ["metric", "unit", "a", "b", "change", "ratio", "noise", "is_beyond_noise"],
    "categories": ["category", *NUMBERS, "noise_ms", "state"],
    "ops": ["type", "name", "device", *COUNTED, "a_name"],
    "layers": ["layer", "class_name", "kind", "device", *COUNTED, "a_name"],
    "source_lines": ["file", "line", "function", "code", "bucket", "device", *COUNTED],
    "kernels": ["name", "op_name", *COUNTED],
    "iterators": ["name", "long_name", *COUNTED],
    "memory": ["allocator", "metric", "unit", "a", "b", "change", "ratio", "noise", "state"],
}
RUNS = {
    "steps": Run(seed=1, input_us=100, kernels={"gemm": 50.0}),
    "few steps": Run(seed=1, n_steps=2),
    "no steps": Run(seed=1, has_steps=False),
    "nothing": Run(n_steps=0),
}


@pytest.mark.parametrize("first", list(RUNS))
@pytest.mark.parametrize("second", list(RUNS))
def test_every_table_has_its_columns_whatever_is_compared(first: str, second: str, tmp_path: Path) -> None:
    found = tfprof.diff(RUNS[first].profile(tmp_path), RUNS[second].profile(tmp_path))
    assert {name: list(getattr(found, name)) for name in COLUMNS} == COLUMNS
    assert str(found)
    assert "\n" not in repr(found)
    assert set(found._repr_mimebundle_()) == {"text/plain"}
    if first != second:
        assert found.verdict
    else:
        assert found.is_within_noise


def test_hostile_names_stay_on_one_line(tmp_path: Path) -> None:
    ops = {"a\nb/MatMul": 50.0, f"{'x' * 5000}/MatMul": 60.0, "<b>/MatMul": 70.0}
    found = tfprof.diff(Run(ops=ops).profile(tmp_path), Run(ops=ops, seed=1).profile(tmp_path))
    assert all(len(line) < 300 for line in str(found).splitlines())


@pytest.mark.parametrize(("arguments", "name"), [(("x", None), "a"), ((None, 3), "a")])
def test_what_is_no_profile_is_refused_with_what_to_give(arguments: tuple[object, object], name: str) -> None:
    with pytest.raises(TypeError, match=rf"and {name} is a \w+: give what `with tfprof\.profile\(\) as prof` or"):
        tfprof.diff(*arguments)  # type: ignore[arg-type]


def test_a_capture_that_caught_nothing_is_compared_and_named(tmp_path: Path) -> None:
    def nothing() -> object:
        raise EmptyTraceError("nothing was captured: no session of the profiler ran")

    empty = tfprof.Profile(nothing)  # type: ignore[arg-type]
    found = tfprof.diff(empty, Run(n_steps=8).profile(tmp_path))
    assert found.notices[0] == "Run a: nothing was captured: no session of the profiler ran"
    assert "Run a has recorded nothing" in found.verdict
    assert math.isnan(found.step_time_ratio)


@pytest.mark.parametrize("kind", ["keras_fit", "xla_fit"])
def test_a_real_capture_does_not_differ_from_itself(kind: str, capture_of: Callable[[str], Path]) -> None:
    first, second = (tfprof.load(capture_of(kind)) for _ in range(2))
    found = tfprof.diff(first, second)
    assert found.is_within_noise
    assert found.step_time_ratio == 1
    for name in COLUMNS:
        frame: pd.DataFrame = getattr(found, name)
        assert (frame["change_ms" if "change_ms" in frame else "change"] == 0).all()
    assert len(found.ops)
    sums = found._runs.op_sums[0].self_ms.mean(axis=1).sum()
    during = first.overview.is_averaged
    ran = sum(first.select(step=int(step)).ops["total_self_time_us"].sum() for step in during.nonzero()[0])
    assert sums == pytest.approx(ran / 1e3 / during.sum(), rel=0.3)  # ops that cross the end of a step count as a whole


Variable = tuple[str, str, str]
"""Name, shape, dtype."""
SMALL: tuple[Variable, ...] = (
    ("model/conv2d/kernel", "3x3x1x16", "float32"),
    ("model/dense/kernel", "2704x64", "float32"),
)
WIDE: tuple[Variable, ...] = (
    ("model/conv2d/kernel", "3x3x1x48", "float32"),
    ("model/dense/kernel", "8112x64", "float32"),
)


def noted(variables: Sequence[Variable], *, extra: Sequence[str] = ()) -> SourceMap:
    """What a capture notes of a model with these weights, and with layers of no weights."""
    layers = [*dict.fromkeys(name.rpartition("/")[0] for name, _, _ in variables), *extra]
    tables = {name: table_frame(name, {}) for name in ("ops", "frames", "files", "functions", "samples", "facts")}
    tables["layers"] = pd.DataFrame(
        [{"layer": one, "name": one, "class_name": "Dense", "model": "model", "file": -1, "line": 0} for one in layers]
    )
    rows = [
        {
            "name": name,
            "shape": shape,
            "dtype": dtype,
            "trainable": True,
            "layer": name.rpartition("/")[0],
            "device": "",
        }
        for name, shape, dtype in variables
    ]
    return SourceMap(**tables, variables=pd.DataFrame(rows))


def diff_of(a: Run, b: Run, before: SourceMap | None, after: SourceMap | None) -> RunDiff:
    first, second = (dataclasses.replace(run.results(), sources=sources) for run, sources in ((a, before), (b, after)))
    return RunDiff(first, second)


def test_a_wider_model_is_named_first_and_no_machine_is_blamed() -> None:
    """All ops take 1.9 times as long, as on a slower machine: the variables tell that it is the program."""
    diff = diff_of(Run(seed=1), Run(seed=2, speed=1.9), noted(SMALL), noted(WIDE))
    said = verdict_of(diff)
    assert said.startswith(
        "What differs in b: 519,600 parameters, 173,200 in a (model/conv2d/kernel is (3, 3, 1, 48), was (3, 3, 1, 16), "
        "model/dense/kernel is (8112, 64), was (2704, 64)). Steps of b are "
    )
    assert "machine" not in said
    assert "no single part" not in said
    assert diff.step_times.is_beyond_noise
    assert set(diff.layers["state"]) == {"slower"}


def test_what_one_run_did_not_note_is_neither_new_nor_gone() -> None:
    for before, after in ((noted(SMALL), None), (None, noted(SMALL))):
        diff = diff_of(Run(seed=1), Run(seed=2), before, after)
        for table in (diff.layers, diff.source_lines):
            assert not set(table["state"]) & {"added", "removed"}
        assert verdict_of(diff).startswith("No change beyond noise: ")


@pytest.mark.parametrize("uneven", [0.1, *(pytest.param(less, marks=pytest.mark.nightly) for less in (0.0, 0.03))])
def test_thirty_pairs_of_one_program_do_not_differ(uneven: float) -> None:
    """Neighbouring steps are alike, the machine drifts, has bursts, and a level of its own in each run."""
    results: list[Analysis] = [
        Run(seed=seed, n_steps=40, uneven=uneven, between=0.04, noise=0.1, gap_us=300, input_us=100).results()
        for seed in range(31)
    ]
    said = [verdict_of(RunDiff(a, b)) for a, b in itertools.pairwise(results)]
    assert [one for one in said if not one.startswith("No change beyond noise: ")] == []


@pytest.mark.parametrize("uneven", [0.0, 0.03])
def test_a_program_that_takes_twice_as_long_is_found_in_runs_as_uneven(uneven: float) -> None:
    for seed in range(0, 10, 2):
        a = Run(seed=seed, n_steps=80, uneven=uneven, between=0.04, noise=0.1)
        b = dataclasses.replace(a, seed=seed + 1, ops=with_times({"dense_1": 6.0}))
        diff = diff_of(a, b, None, None)
        assert diff.step_times.ratio > 1.8
        assert diff.step_times.is_beyond_noise
        assert "model/dense_1 is slower" in verdict_of(diff)


def test_a_real_capture_of_another_program_is_told_by_its_parameters(capture_of: Callable[[str], Path]) -> None:
    a, b = (tfprof.load(capture_of(kind)) for kind in ("h100_cnn_input", "h100_lstm"))
    assert tfprof.diff(a, b).verdict.startswith("What differs in b: ")
    assert tfprof.diff(a, a)._runs.program == ()


def run(directory: Path, n_hosts: int, *, transfer_us: float) -> tfprof.Profile:
    """Steps of 2,420 us and the transfer."""
    cluster = Cluster(n_hosts, transfer_us=transfer_us, jitter_ratio=0.0)
    return tfprof.load(cluster.draw(directory / f"{n_hosts} workers"))


@pytest.fixture
def runs(tmp_path: Path) -> list[tfprof.Profile]:
    return [run(tmp_path, n, transfer_us=us) for n, us in ((4, 1430), (1, 80), (2, 580))]


def test_workers_that_keep_their_batch_give_more_samples(runs: list[tfprof.Profile]) -> None:
    scaling = tfprof.scaling(runs)
    frame = scaling.frame
    assert frame["n_workers"].tolist() == [1, 2, 4]
    assert frame["step_time_ms"].tolist() == pytest.approx([2.5, 3.0, 3.85])
    assert frame["speedup"].tolist() == pytest.approx([1, 2 * 2.5 / 3, 4 * 2.5 / 3.85])
    assert frame["efficiency_ratio"].tolist() == pytest.approx([1, 2.5 / 3, 2.5 / 3.85])
    assert frame["communication_ratio"].tolist() == pytest.approx([0.08 / 2.5, 0.58 / 3, 1.43 / 3.85], abs=0.001)
    assert frame["largest_exchange"].tolist() == ["CollectiveReduceV2"] * 3
    assert scaling.sentence == (
        "4 workers give 2.60 times the throughput of 1 (65 % efficiency); 37 % of step time is CollectiveReduceV2."
    )


def test_a_page_shows_each_run_and_escapes_what_traces_say(runs: list[tfprof.Profile]) -> None:
    runs[0].title = '"><script>alert(1)</script>'
    scaling = tfprof.scaling(runs)
    shown = scaling._repr_mimebundle_()
    assert "<script" not in shown["text/html"]
    assert scaling.sentence in shown["text/plain"]
    assert len(Seen(shown["text/html"]).rows) == 4
    assert repr(scaling) == f"<Scaling: {scaling.sentence}>"


def at_once(*ops: str) -> bytes:
    """Steps of 1,000 us that compute for 400 and then wait for each of these, each on a thread of its own, for 500."""
    main: list[Event] = []
    threads: list[list[Event]] = [[] for _ in ops]
    for i in range(4):
        at = 10 + 1010 * i
        main += [event("train", at, STEP_US, _r=1, step_num=i), event("net/MatMul:MatMul", at, 390)]
        for k, op in enumerate(ops):
            link = i * len(ops) + k + 1
            main.append(event("hand over", at + 391 + 2 * k, 1, _pt=2, _p=link))
            threads[k] += [event("taken", at + 399, 502, _ct=2, _c=link), event(op, at + 400, 500)]
    return host("a", main, *threads)


def test_an_exchange_that_is_part_of_the_communication_is_not_called_all_of_it() -> None:
    both = "x/CollectiveReduceV2:CollectiveReduceV2", "z/CollectiveGatherV2:CollectiveGatherV2"
    frame = scaling_frame([ScalingRun("two", results_of(at_once(*both)))]).assign(n_workers=2)
    sentence = scaling_sentence(pd.concat([frame.assign(n_workers=1), frame], ignore_index=True))
    assert sentence.endswith("; 50 % of step time is communication, the largest part CollectiveGatherV2.")


def damaged(directory: Path, n_hosts: int, *, n_damaged: int) -> tfprof.Profile:
    """A reduced run of which the last hosts cannot be read."""
    run = Cluster(n_hosts, jitter_ratio=0.0).draw(directory / f"{n_damaged} of {n_hosts} damaged")
    for path in sorted(run.glob("*.xplane.pb"))[n_hosts - n_damaged :]:
        path.write_bytes(path.read_bytes()[:100])
    with ThreadPoolExecutor(1) as executor:
        return tfprof.load(run, executor=executor)


def test_a_run_whose_workers_are_not_all_known_is_not_compared(tmp_path: Path, runs: list[tfprof.Profile]) -> None:
    broken = damaged(tmp_path, 8, n_damaged=2)
    broken.title = "broken"
    scaling = tfprof.scaling([*runs, broken])
    assert scaling.frame["n_workers"].tolist() == [1, 2, 4, 6]
    assert scaling.frame["n_missing"].tolist() == [0, 0, 0, 2]
    assert scaling.frame["speedup"].isna().tolist() == [False, False, False, True]
    assert scaling.frame["efficiency_ratio"].isna().tolist() == [False, False, False, True]
    assert scaling.sentence.startswith("4 workers give 2.60 times")
    assert scaling.notices == (
        "2 hosts of the run broken could not be read or captured: how many workers it had is not known, so it is not compared.",
    )
    assert "not known" in scaling._repr_mimebundle_()["text/html"]


def test_workers_that_sent_no_trace_are_missing(tmp_path: Path) -> None:
    content = dict(Cluster(2).files())["worker0000"]
    answers = [Answer("a:1", content), Answer("b:1", failure="it cannot be reached")]
    profile = _profile_of(answers, answers[1:], tmp_path)
    assert profile.run.n_missing_hosts == profile.aligned().run.n_missing_hosts == 1


def test_what_cannot_be_compared_is_told(runs: list[tfprof.Profile]) -> None:
    with pytest.raises(ValueError, match="at least two"):
        tfprof.scaling(runs[:1])
    with pytest.raises(TypeError, match="a str"):
        tfprof.scaling(["run"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="'half'"):
        tfprof.scaling(runs, global_batch="half")  # type: ignore[arg-type]
