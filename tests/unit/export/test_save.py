"""A saved profile: what TensorBoard finds in the directory, and that loading it gives everything back."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.builders import event, line, plane, session, space
from tfprof_widgets.capture import CaptureRecord, no_samples
from tfprof_widgets.errors import TfProfError, TraceError
from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import SAVED, SavedProfile, read_saved
from tfprof_widgets.show import Bookmark
from tfprof_widgets.trace import CaptureCost


def xspace(name: str, start_ns: int = 10**18) -> bytes:
    return space(session(start_ns=start_ns), plane("/host:CPU", line("main", event(name, 1, 2))), hostnames=["h"])


def run(directory: Path, name: str, *, start_ns: int = 10**18) -> Path:
    place = directory / "plugins" / "profile" / name
    place.mkdir(parents=True)
    (place / "h.xplane.pb").write_bytes(xspace(name, start_ns))
    return place


def captured(*run_dirs: Path, **fields: Any) -> Profile:
    """A profile of these files as a capture leaves it."""
    cost = CaptureCost(start_s=0.5, stop_s=1.5, n_bytes=7)
    known: dict[str, Any] = {"windows": (), "notices": (), "system": no_samples(), "outcome": "complete", "n_steps": 3}
    prof = Profile(title="my run")
    prof.run.take(CaptureRecord(run_dirs=run_dirs, cost=cost, **(known | fields)))
    return prof


def files(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def test_a_run_directory_of_tensorboard_with_the_sidecars(tmp_path: Path) -> None:
    source = write_run(tmp_path / "old" / "plugins" / "profile" / "2026_11_20_10_00_00", PLAIN)
    prof = tfprof.load(source)
    assert prof.save(tmp_path / "new") == tmp_path / "new"
    base = "plugins/profile/2026_11_20_10_00_00"
    assert {SAVED, f"{base}/tfprof.sources.json.gz"} < files(tmp_path / "new")
    again = tfprof.load(tmp_path / "new")
    for table in ("events", "steps", "ops", "source_lines", "layers"):
        pd.testing.assert_frame_equal(getattr(again, table), getattr(prof, table))
    assert [path.name for path in again.run.opened.paths] == [path.name for path in prof.run.opened.paths]


def test_samples_notices_cost_and_title_of_a_capture_come_back(tmp_path: Path) -> None:
    system = pd.DataFrame({"time_ns": [10**18, 10**18 + 10**8], "cpu_pct": [1.5, 99.0], "gpu_pct": [float("nan"), 3.0]})
    prof = captured(run(tmp_path / "old", "a"), system=system, notices=("The capture stopped itself.",))
    again = tfprof.load(prof.save(tmp_path / "new"))
    pd.testing.assert_frame_equal(again.system, prof.system)
    assert again.system["time_ms"].tolist() == [0, 100]
    assert again.notices == ("The capture stopped itself.",)
    assert again.title == "my run"
    assert again.cost == prof.cost
    pd.testing.assert_frame_equal(again.counters, prof.counters)


def step_times(ms_inside: float) -> pd.DataFrame:
    """Forty steps of 10 ms, then as many under the profiler."""
    ms = [10 + k % 3 / 10 for k in range(40)] + [ms_inside + k % 3 / 10 for k in range(40)]
    return pd.DataFrame(
        {
            "number": range(80),
            "name": "train",
            "start_ns": range(10**18, 10**18 + 80),
            "duration_ns": [round(one * 1e6) for one in ms],
            "phase": ["before"] * 40 + ["during"] * 40,
        }
    )


def test_what_a_capture_cost_comes_back_with_its_notice(tmp_path: Path) -> None:
    prof = captured(run(tmp_path / "old", "a"), step_times=step_times(14), detail="high", outcome="bounded")
    assert prof.capture is not None
    assert prof.capture.overhead_ratio == pytest.approx(0.4, abs=0.02)
    assert prof.capture.is_distorting
    (notice,) = prof.notices
    assert notice.startswith("The capture distorts what it shows: a step took 39.6 % longer")
    assert notice in prof.capture.sentence
    for again in (
        tfprof.load(prof.save(tmp_path / "new")),
        tfprof.load(prof.to_chrome_trace(tmp_path / "x.json")),
        tfprof.load(tfprof.load(prof.save(tmp_path / "new")).save(tmp_path / "newer")),
    ):
        assert again.capture == prof.capture
        assert again.notices == prof.notices
    calm = captured(run(tmp_path / "calm", "a"), step_times=step_times(10.5))
    assert calm.notices == ()


def test_a_capture_without_steps_to_compare_comes_back_too(tmp_path: Path) -> None:
    prof = captured(run(tmp_path / "old", "a"))
    again = tfprof.load(prof.save(tmp_path / "new"))
    assert prof.capture is not None
    assert again.capture is not None
    assert again.capture.sentence == prof.capture.sentence
    assert repr(again.capture) == repr(prof.capture)


def test_bookmarks_come_back_and_survive_a_save_without_a_timeline(tmp_path: Path) -> None:
    prof = captured(run(tmp_path / "old", "a"))
    marks = (Bookmark(1, 1, "here"), Bookmark(2, 9, "</script>"))
    prof.timeline().bookmarks = marks
    again = tfprof.load(tfprof.load(prof.save(tmp_path / "new")).save(tmp_path / "newer"))
    assert again.timeline().bookmarks == marks
    chrome = tfprof.load(again.to_chrome_trace(tmp_path / "x.json"))
    assert chrome.timeline().bookmarks == marks


def test_all_windows_of_a_capture_come_back(tmp_path: Path) -> None:
    runs = [run(tmp_path / "old", f"2026_11_20_10_00_0{i}", start_ns=10**18 + i * 10**9) for i in range(3)]
    prof = captured(*runs)
    again = tfprof.load(prof.save(tmp_path / "new"))
    assert len(again.trace.sessions) == 3
    pd.testing.assert_frame_equal(again.events, prof.events)
    assert again.notices == ()


def test_a_profile_can_be_saved_where_it_was_loaded_from(tmp_path: Path) -> None:
    prof = tfprof.load(run(tmp_path, "a"))
    prof.save(tmp_path)
    assert files(tmp_path) == {SAVED, "plugins/profile/a/h.xplane.pb"}
    assert tfprof.load(tmp_path).events["name"].tolist() == ["a"]


def test_compressed_traces_are_unpacked_for_tensorboard(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "h.xplane.pb.gz").write_bytes(gzip.compress(xspace("x")[:40]) + gzip.compress(xspace("x")[40:]))
    tfprof.load(tmp_path / "a").save(tmp_path / "new")
    assert (tmp_path / "new" / "plugins" / "profile" / "a" / "h.xplane.pb").read_bytes() == xspace("x")


@pytest.mark.parametrize("name", ["x.json", "x.json.gz"])
def test_what_came_from_a_chrome_trace_is_kept_as_one_and_said_so(name: str, tmp_path: Path) -> None:
    prof = tfprof.load(tfprof.load(run(tmp_path / "old", "a")).to_chrome_trace(tmp_path / "src" / name))
    with pytest.warns(UserWarning, match="TensorBoard does not"):
        prof.save(tmp_path / "new")
    assert files(tmp_path / "new") == {SAVED, f"plugins/profile/src/{name}"}
    pd.testing.assert_frame_equal(tfprof.load(tmp_path / "new").events, prof.events)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "JSONDecodeError"),
        (b"[]", "version"),
        (b'{"version": 2}', "version"),
        (b'{"version": 1, "system": {"cpu": ["x"]}}', "no list of numbers"),
        (b'{"version": 1, "system": {"cpu": [1]}}', "time_ns"),
        (b'{"version": 1, "capture": []}', "capture is no object"),
        (b'{"version": 1, "capture": {"outcome": "x"}}', "overhead_interval"),
        (b'{"version": 1, "runs": ["../../etc"]}', "no name of a run directory"),
        (b'{"version": 1, "notices": [5]}', "a text is none"),
        (b'{"version": 1, "n_missing_hosts": -1}', "-1 is no number of hosts"),
        (b'{"version": 1, "n_missing_hosts": 1.5}', "1.5 is no number of hosts"),
        (b"[" * 100_000, "Recursion"),
    ],
)
def test_a_broken_sidecar_is_refused_with_what_is_wrong_in_it(content: bytes, said: str, tmp_path: Path) -> None:
    run(tmp_path, "a")
    (tmp_path / SAVED).write_bytes(content)
    with pytest.raises(TraceError, match=rf"{SAVED} cannot be read: .*{said}.*Remove it"):
        tfprof.load(tmp_path)


def test_a_saved_profile_whose_run_is_gone_says_so(tmp_path: Path) -> None:
    prof = tfprof.load(run(tmp_path / "old", "a"))
    prof.save(tmp_path / "new")
    (tmp_path / "new" / "plugins" / "profile" / "a" / "h.xplane.pb").unlink()
    with pytest.raises(TraceError, match="holds no trace"):
        tfprof.load(tmp_path / "new")


def test_what_cannot_be_written_or_read_is_named(tmp_path: Path) -> None:
    prof = tfprof.load(run(tmp_path / "old", "a"))
    (tmp_path / "file").write_text("")
    with pytest.raises(TfProfError, match="cannot be written"):
        prof.save(tmp_path / "file")
    (tmp_path / "old" / "plugins" / "profile" / "a" / "h.xplane.pb").unlink()
    with pytest.raises(TfProfError, match=r"h\.xplane\.pb cannot be read"):
        prof.save(tmp_path / "new")


@pytest.mark.parametrize(
    ("name", "content"), [("h.xplane.pb", xspace("a")), ("h.xplane.pb.gz", gzip.compress(xspace("x")))]
)
def test_another_run_of_equal_name_stays(name: str, content: bytes, tmp_path: Path) -> None:
    other = run(tmp_path / "new", "a")
    (other / "h.xplane.pb").write_bytes(xspace("b"))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / name).write_bytes(content)
    for _ in range(2):
        tfprof.load(tmp_path / "a").save(tmp_path / "new")
    assert tfprof.load(other).events["name"].tolist() == ["b"]
    assert files(tmp_path / "new") == {SAVED, *(f"plugins/profile/{name}/h.xplane.pb" for name in ("a", "a_2"))}


def test_a_trace_that_was_written_again_is_not_saved_in_place_of_the_one_that_is_shown(tmp_path: Path) -> None:
    place = run(tmp_path / "old", "a")
    prof = tfprof.load(place)
    (place / "h.xplane.pb").write_bytes(xspace("another run"))
    with pytest.raises(TfProfError, match="written again"):
        prof.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_bookmarks_of_a_broken_sidecar_do_not_keep_the_profile_from_being_saved(tmp_path: Path) -> None:
    tfprof.load(run(tmp_path / "old", "a")).save(tmp_path / "new")
    sidecar = tmp_path / "new" / SAVED
    whole = {"start_ns": 1, "end_ns": 2, "text": "</script>\ud800"}
    marks = [{"start_ns": float("nan"), "end_ns": 1}, whole, {"text": float("inf")}, 5]
    sidecar.write_text(json.dumps(json.loads(sidecar.read_bytes()) | {"bookmarks": marks}))
    prof = tfprof.load(tmp_path / "new")
    for place in (prof.save(tmp_path / "again"), prof.to_chrome_trace(tmp_path / "again.json")):
        assert [mark.start_ns for mark in tfprof.load(place).timeline().bookmarks] == [1]


def test_samples_that_are_no_numbers_are_saved_as_unknown(tmp_path: Path) -> None:
    saved = SavedProfile(system=pd.DataFrame({"time_ns": [1, 2], "cpu_pct": [float("inf"), 3.0]}))
    (tmp_path / SAVED).write_text(json.dumps(saved.document(), allow_nan=False))
    read = read_saved(tmp_path)
    assert read is not None
    assert read.system["cpu_pct"].isna().tolist() == [True, False]


def test_millions_of_lists_in_a_saved_profile_are_refused_unread(tmp_path: Path) -> None:
    (tmp_path / SAVED).write_text('{"version":1,"bookmarks":[' + "[]," * 2**21 + "[]]}")
    with pytest.raises(TraceError, match="has more than 1048576 lists"):
        read_saved(tmp_path)
