"""Files of TensorFlow's first profiler are told by their content, alone, in directories and by patterns."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.unit.formats.first_profiler import N_RUNS
from tfprof_widgets.errors import TraceError
from tfprof_widgets.read import step_numbers

pytestmark = pytest.mark.tensorflow


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
