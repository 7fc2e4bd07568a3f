"""Files of TensorFlow's first profiler are told by their content; a damaged one gives a `TraceError` that says where."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfprof_widgets as tfprof
from tests.unit.formats.first_profiler import HOOK_STEPS, N_RUNS
from tfprof_widgets.errors import EmptyTraceError, TfProfError, TraceError
from tfprof_widgets.read import step_numbers

pytestmark = pytest.mark.tensorflow

N_CUTS, N_FLIPS = 12, 40
SOURCES = ("runs/run_0.pb", "tasks/run_5.stats", "tasks/run_5.pb", "profile/profile.context", "hook/timeline-2.json")


def timeline(**changes: Any) -> bytes:
    """A timeline of one op, some of whose members are others."""
    op = {"ph": "X", "cat": "Op", "name": "MatMul", "pid": 1, "tid": 0, "ts": 10, "dur": 5}
    op |= {"args": {"name": "x", "op": "MatMul"}} | changes
    process = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:CPU:0 Compute"}}
    return json.dumps({"traceEvents": [process, op]}).encode()


def cut(source: str, part: float) -> Callable[[Path], bytes]:
    """The first part of a real file."""

    def content(directory: Path) -> bytes:
        whole = (directory / source).read_bytes()
        return whole[: round(len(whole) * part)]

    return content


BAD: dict[str, tuple[str, bytes | Callable[[Path], bytes], str]] = {
    "a cut timeline": ("timeline-1.json", cut("hook/timeline-2.json", 0.5), r"\d+ bytes end inside traceEvents"),
    "a cut run": ("run.pb", cut("runs/run_0.pb", 0.5), r"RunMetadata or StepStats: byte \d+ of \d+: .*truncated"),
    "cut stats": ("run.pb", cut("tasks/run_5.stats", 0.5), r"RunMetadata or StepStats: byte \d+ of \d+"),
    "a cut profile": ("profile.context", cut("profile/profile.context", 0.5), r"byte \d+ of \d+"),
    "a graph": ("graph.pb", lambda at: (at / "runs/graph.pb").read_bytes(), r"is a GraphDef.*graph="),
    "a log of ops": ("x.pb", lambda at: (at / "runs/tfprof_log").read_bytes(), r"OpLogProto"),
    "a summary": ("x.pb", lambda at: next((at / "hook").glob("events.*")).read_bytes(), r"byte \d+.*RunMetadata"),
    "a zip archive": ("trace.zip", b"PK\x03\x04" + bytes(60), r"is a zip archive: unpack it"),
    "a pointer of Git LFS": (
        "x.xplane.pb",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n",
        r"git lfs pull",
    ),
    "a profile of pprof": ("m.prof", gzip.compress(b"\n\x04\x08\x01\x10\x02\x12\x05\x0a\x01\x01\x12\x00"), r"pprof"),
    "a text": ("notes.txt", b"Dear diary, today I trained a net.\n", r"RunMetadata"),
    "a text named as JSON": ("x.json", b"Dear diary", r"begins with b'D', neither an object nor a list"),
    "JSON of something else": ("x.json", b'{"a": 1}', r"without traceEvents"),
    "a cut gzip": (
        "t.json.gz",
        lambda at: gzip.compress((at / "hook/timeline-2.json").read_bytes())[:900],
        "gzip stream",
    ),
    "a broken gzip": ("run.pb.gz", b"\x1f\x8b\x08\x00aaaaaaaaaaaaaaaa", r"not whole"),
    "a time that is a text": (
        "timeline-1.json",
        timeline(ts="soon"),
        r"the first odd one is event 1: its ts is 'soon', not a time",
    ),
    "args that are a list": (
        "timeline-1.json",
        timeline(args=[1]),
        r"the first odd one is event 1: its args are a list",
    ),
    "a process that is a list": (
        "timeline-1.json",
        timeline(pid=[1]),
        r"the first odd one is event 1: its pid is a list",
    ),
    "a phase that is none": ("timeline-1.json", timeline(ph=None), r"the first odd one is event 1: it has no ph"),
    "nested too deeply": ("timeline-1.json", timeline()[:-1] + b',"x":' + b"[" * 10**5, r"byte|nested"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_named_with_what_was_expected(first_profiler: Path, tmp_path: Path, what: str) -> None:
    name, content, message = BAD[what]
    file = tmp_path / name
    file.write_bytes(content(first_profiler) if callable(content) else content)
    with pytest.raises(TraceError, match=message) as caught:
        tfprof.load(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("name", ["run.pb", "timeline-1.json", "profile.context", "x.pbtxt"])
def test_an_empty_file_is_said_to_be_empty(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(EmptyTraceError, match=rf"{name}.*0 bytes"):
        tfprof.load(tmp_path / name)


def test_a_directory_of_several_kinds_names_them(first_profiler: Path, tmp_path: Path) -> None:
    for source in ("runs/run_0.pb", "hook/timeline-2.json"):
        (tmp_path / Path(source).name).write_bytes((first_profiler / source).read_bytes())
    with pytest.raises(TraceError, match=r"several kinds: run_0.pb \(a RunMetadata.*timeline-2.json \(JSON.*glob"):
        tfprof.load(tmp_path)
    assert len(tfprof.load(tmp_path / "*.json").steps) == 1


def test_a_pattern_of_timelines_and_other_traces_names_them(first_profiler: Path, tmp_path: Path) -> None:
    (tmp_path / "timeline-2.json").write_bytes((first_profiler / "hook" / "timeline-2.json").read_bytes())
    (tmp_path / "other.json").write_text('[{"ph": "X", "name": "a", "ts": 1, "dur": 1}]')
    with pytest.raises(TraceError, match=r"several kinds: timeline-2.json .*other.json"):
        tfprof.load(tmp_path / "*.json")


def test_of_several_steps_the_damaged_one_is_named(first_profiler: Path, tmp_path: Path) -> None:
    for number in HOOK_STEPS:
        content = (first_profiler / "hook" / f"timeline-{number}.json").read_bytes()
        (tmp_path / f"timeline-{number}.json").write_bytes(content[: len(content) // 2] if number == 4 else content)
    with pytest.raises(TraceError, match=r"timeline-4\.json is no readable timeline"):
        tfprof.load(tmp_path)


def test_files_of_steps_beside_an_xspace_are_told(first_profiler: Path, tmp_path: Path, keras_xplane: Path) -> None:
    (tmp_path / "host.xplane.pb").write_bytes(keras_xplane.read_bytes())
    (tmp_path / "run_0.pb").write_bytes((first_profiler / "runs" / "run_0.pb").read_bytes())
    assert any("run_0.pb" in text for text in tfprof.load(tmp_path).trace.warnings)


def look(file: Path) -> None:
    """Open a file and ask for what is made of it; what it says is wrong may be said by a `TfProfError` only."""
    try:
        prof = tfprof.load(file)
        assert prof.trace.n_events >= 0
        assert len(prof.steps) + len(prof.ops) + len(prof.memory.summary) + len(prof.counters) + len(prof.flows) >= 0
        prof.tree("scope")
        prof.tree("graph")
    except TfProfError:
        pass


@pytest.mark.parametrize("source", SOURCES)
def test_cut_files_never_raise_anything_else(first_profiler: Path, tmp_path: Path, source: str) -> None:
    whole = (first_profiler / source).read_bytes()
    for i in range(N_CUTS):
        file = tmp_path / f"{i}_{Path(source).name}"
        file.write_bytes(whole[: len(whole) * i // N_CUTS + i])
        look(file)


@pytest.mark.parametrize("source", SOURCES)
def test_flipped_bytes_never_raise_anything_else(first_profiler: Path, tmp_path: Path, source: str) -> None:
    whole = (first_profiler / source).read_bytes()
    chance = random.Random(source)
    for i in range(N_FLIPS):
        content = bytearray(whole)
        for _ in range(chance.choice((1, 3, 20))):
            content[chance.randrange(len(content))] = chance.randrange(256)
        file = tmp_path / f"{i}_{Path(source).name}"
        file.write_bytes(bytes(content))
        look(file)


@pytest.mark.parametrize("name", ["x.xplane.pb", "x.json.bak", "profile", "a b.pb"])
@pytest.mark.parametrize(
    "source", ["runs/run_1.pb", "tasks/run_5.stats", "profile/profile.context", "hook/timeline-2.json"]
)
def test_a_file_of_any_name_is_told_by_its_content(
    first_profiler: Path, tmp_path: Path, source: str, name: str
) -> None:
    content = (first_profiler / source).read_bytes()
    for file, raw in ((tmp_path / name, content), (tmp_path / f"{name}.gz", gzip.compress(content))):
        file.write_bytes(raw)
        prof = tfprof.load(file)
        assert len(prof.steps)
        assert prof.tree("op")["total_micros"].iloc[0] > 0


def test_a_directory_of_runs_has_its_graph_and_its_log_beside_it(first_profiler: Path) -> None:
    prof = tfprof.load(first_profiler / "runs")
    assert prof.steps["name"].tolist() == [f"step {number}" for number in range(N_RUNS)]
    root = prof.tree("scope").iloc[0]
    assert root["total_params"] > 24 * 16 + 8 * 16
    assert root["total_float_ops"] > 0
    assert len(prof.tree("code")) > 10
    stored = tfprof.load(first_profiler / "profile" / "profile.context").tree("scope")
    # The profiler filled in shapes that the graph leaves open.
    assert prof.tree("scope").drop(columns="input_shapes").equals(stored.drop(columns="input_shapes"))


def test_a_graph_may_lie_elsewhere_and_be_text(first_profiler: Path, tmp_path: Path) -> None:
    shutil.copy(first_profiler / "runs" / "run_0.pb", tmp_path)
    alone = tfprof.load(tmp_path / "run_0.pb")
    assert alone.tree("scope")["total_params"].iloc[0] == 0
    as_text, as_bytes = (
        tfprof.load(tmp_path / "run_0.pb", graph=first_profiler / graph)
        for graph in ("profile/as_text.pbtxt", "runs/graph.pb")
    )
    assert as_text.tree("graph").equals(as_bytes.tree("graph"))
    assert as_text.tree("scope")["total_params"].iloc[0] > 24 * 16
    assert as_text.variables.equals(as_bytes.variables)
    trained = as_text.variables[as_text.variables["dtype"] == "float32"]
    assert trained["n_params"].max() == 24 * 16
    assert (trained["bytes"] == 4 * trained["n_params"]).all()
    stored = tfprof.load(first_profiler / "profile" / "profile.context").variables
    assert stored.set_index("name").loc[trained["name"], "bytes"].tolist() == trained["bytes"].tolist()


@pytest.mark.parametrize("path", ["runs", "runs/run_1.pb", "profile/profile.context", "tasks/run_5.pb"])
def test_a_saved_profile_comes_back_whole(first_profiler: Path, tmp_path: Path, path: str) -> None:
    prof = tfprof.load(first_profiler / path)
    with pytest.warns(UserWarning, match="first profiler"):
        prof.save(tmp_path / "saved")
    again = tfprof.load(tmp_path / "saved")
    assert again.steps.equals(prof.steps)
    assert again.trace.n_events == prof.trace.n_events
    for view in ("scope", "graph", "op", "code"):
        assert again.tree(view).equals(prof.tree(view)), view


def test_a_graph_from_elsewhere_is_saved_with_the_profile(first_profiler: Path, tmp_path: Path) -> None:
    shutil.copy(first_profiler / "runs" / "run_0.pb", tmp_path)
    prof = tfprof.load(tmp_path / "run_0.pb", graph=first_profiler / "profile" / "as_text.pbtxt")
    with pytest.warns(UserWarning, match="first profiler"):
        prof.save(tmp_path / "saved")
    assert tfprof.load(tmp_path / "saved").tree("scope").equals(prof.tree("scope"))


def test_profiles_of_several_steps_are_one(first_profiler: Path, tmp_path: Path) -> None:
    for name in "ab":
        shutil.copy(first_profiler / "profile" / "profile.context", tmp_path / f"{name}.context")
    one, two = tfprof.load(first_profiler / "profile" / "profile.context"), tfprof.load(tmp_path)
    merged, single = (prof.tree("scope").iloc[0]["total_micros"] for prof in (two, one))
    assert merged == pytest.approx(2 * single, rel=0.2)
    assert len(two.tree("scope")) == len(one.tree("scope"))


def test_files_that_say_nothing_of_times_are_told_what_they_are_for(first_profiler: Path) -> None:
    with pytest.raises(TraceError, match="GraphDef.*graph="):
        tfprof.load(first_profiler / "runs" / "graph.pb")
    with pytest.raises(TraceError, match="OpLogProto.*tfprof_log"):
        tfprof.load(first_profiler / "runs" / "tfprof_log")
    with pytest.raises(TraceError, match="not a GraphDef"):
        tfprof.load(first_profiler / "runs" / "run_0.pb", graph=first_profiler / "runs" / "run_1.pb")


def test_steps_have_the_last_number_of_their_names() -> None:
    assert step_numbers([Path("timeline-12.json"), Path("timeline-3.json.gz")]) == [12, 3]
    assert step_numbers([Path("w0_run_7.pb"), Path("w0_run_8.pb")]) == [7, 8]
    assert step_numbers([Path("a.pb"), Path("run_8.pb")]) == [0, 1]
    assert step_numbers([Path("run_8.pb"), Path("other_8.pb")]) == [0, 1]
