"""What a path leads to is found once, before anything is read: hosts, steps, what lies beside and is not read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tfprof_widgets as tfprof
from tests.unit.opening.test_open import write
from tests.unit.opening.test_step_directories import timelines
from tfprof_widgets.read import MOST_WHOLE, SIDECAR, Hosts, OneFile, Steps, find


def test_hosts_of_a_run_are_found_with_what_was_noted_beside_them(tmp_path: Path) -> None:
    files = tuple(write(tmp_path / "run" / f"{name}.xplane.pb") for name in "ab")
    (tmp_path / "run" / f"a.{SIDECAR}").touch()
    found = find(tmp_path / "run")
    assert found.parts == (Hosts(files),)
    assert found.hosts == found.files == files
    assert found.sidecars == {tmp_path / "run": (tmp_path / "run" / f"a.{SIDECAR}",)}
    assert not found.is_many


def test_more_hosts_than_are_read_whole_are_many_and_windows_of_one_host_are_not(tmp_path: Path) -> None:
    for number in range(MOST_WHOLE + 1):
        write(tmp_path / "hosts" / f"h{number:02d}.xplane.pb")
        write(tmp_path / "windows" / f"{number:02d}" / "h.xplane.pb")
    assert find(tmp_path / "hosts").is_many
    assert len(find(f"{tmp_path}/windows/*").parts) == MOST_WHOLE + 1
    assert not find(f"{tmp_path}/windows/*").is_many


def test_steps_and_single_files_are_no_hosts_unless_each_can_be_read_by_itself(tmp_path: Path) -> None:
    [steps] = find(timelines(tmp_path / "steps")).parts
    assert isinstance(steps, Steps)
    assert [file.name for file in steps.files] == ["timeline-10.json", "timeline-2.json", "timeline-30.json"]
    assert find(tmp_path / "steps").hosts == ()
    file = write(tmp_path / "renamed")
    assert find(file).parts == (OneFile(file),)
    assert find(file).hosts == ()
    assert find(write(tmp_path / "h.xplane.pb")).hosts == (tmp_path / "h.xplane.pb",)


def test_steps_beside_a_run_are_told_of_whether_it_is_reduced_or_not(tmp_path: Path) -> None:
    write(timelines(tmp_path) / "h.xplane.pb")
    told = find(tmp_path).told
    assert "timeline-2.json" in told
    with ThreadPoolExecutor(1) as threads:
        reduced = tfprof.load(tmp_path, executor=threads)
    assert not reduced.has_events
    assert told in reduced.notices
    assert told in tfprof.load(tmp_path).trace.warnings
