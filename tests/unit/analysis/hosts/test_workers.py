"""Steps of several hosts side by side, against XProf's pod viewer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.builders import EPOCH_NS, event, line, plane, session, space
from tests.cluster import Cluster, host_name
from tests.unit.analysis.hosts.drawn_hosts import results_of
from tests.unit.analysis.hosts.several_hosts_oracle import CATEGORIES, NAMES, in_guide, pod_steps
from tests.unit.analysis.parity.parity_case import MARKED_KINDS, Case
from tfprof_widgets.analysis import GUIDE_CATEGORIES, Analysis


def assert_same_as_pod_viewer(frame: pd.DataFrame, theirs: list[dict[str, dict[str, object]]]) -> None:
    assert len(theirs) == frame["step"].nunique() > 0
    assert sum(len(step) for step in theirs) == len(frame)
    for _, ours in frame.iterrows():
        record = theirs[ours["step"]][ours["host"]]
        assert picoseconds(ours, ["step_time"]) == round(record["totalDurationUs"] * 1e6)
        for id_, names in CATEGORIES.items():
            assert picoseconds(ours, names) == round(record["stepBreakdownUs"][id_] * 1e6), (ours["step"], names)
        largest = sorted(GUIDE_CATEGORIES, key=lambda name: ours[f"{name}_ms"])
        if ours[f"{largest[-1]}_ms"] > ours[f"{largest[-2]}_ms"]:  # of equals XProf takes another
            assert NAMES[largest[-1]] == record["bottleneck"]


def picoseconds(row: pd.Series, names: list[str]) -> int:
    return round(sum(row[f"{name}_ms"] for name in names) * 1e9)


@pytest.mark.parametrize("kind", MARKED_KINDS)
def test_the_pod_viewer_shows_the_same_of_a_real_capture(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    assert_same_as_pod_viewer(in_guide(case.results), pod_steps(case.theirs))


LENGTHS = np.random.default_rng(1).uniform(700, 1300, 40)
"""Of the steps of one training, in us: they are as long on every host."""


def host(name: str, steps: range, *, clock_us: float = 0.0, counted_from: int = 0, mark: str = "train") -> bytes:
    """A host that took part in some steps of the training, each of which ends with an exchange; its clock is ahead."""
    begin = np.concatenate([[0.0], np.cumsum(LENGTHS)])
    exchange = "CollectiveReduceV2:CollectiveReduceV2"
    events = [
        one
        for i in steps
        for one in (
            event(mark, float(begin[i] - begin[steps.start]), float(LENGTHS[i] - 5), _r=1, step_num=i + counted_from),
            event(exchange, float(begin[i + 1] - begin[steps.start]) - 205, 200),
        )
    ]
    start_ns = EPOCH_NS + round(1e3 * (float(begin[steps.start]) + clock_us))
    return space(
        session(start_ns=start_ns, duration_us=1e5), plane("/host:CPU", line("main", *events)), hostnames=[name]
    )


def numbers(results: Analysis, name: str) -> list[str]:
    frame = results.workers.frame
    return frame[frame["host"] == name]["name"].tolist()


@pytest.mark.parametrize("clock_us", [0.0, 300.0, -300.0, 2_500.0, -4_100.0, 1e6, -3e7])
def test_the_same_steps_are_compared_whatever_the_clocks_say(clock_us: float) -> None:
    results = results_of(host("a", range(5, 20)), host("b", range(8, 24), clock_us=clock_us), host("c", range(6, 22)))
    steps = [f"train {i}" for i in range(8, 20)]
    assert [numbers(results, name) for name in "abc"] == [steps] * 3


def test_hosts_that_count_differently_and_never_meet_go_by_their_numbers() -> None:
    results = results_of(host("a", range(5, 12)), host("b", range(20, 30), counted_from=-13))
    assert numbers(results, "a") == numbers(results, "b") == [f"train {i}" for i in range(7, 12)]


def test_a_clock_that_is_off_by_steps_is_told_of_and_moved(tmp_path: Path) -> None:
    files = {"a": host("a", range(9)), "b": host("b", range(9), clock_us=-5_000.0), "c": host("c", range(9))}
    for name, content in files.items():
        (tmp_path / f"{name}.xplane.pb").write_bytes(content)
    prof = tfprof.load(tmp_path)
    (notice,) = prof.notices
    assert notice.startswith("The clocks of 1 of 3 hosts are off by much of a step: that of b is 5.00 ms behind")
    moved = prof.aligned()
    ends = ends_of(moved)
    assert (ends.max(axis=1) - ends.min(axis=1)).max() < 1e-6
    assert moved.notices == ()
    assert moved.workers["step_time_ms"].tolist() == pytest.approx(prof.workers["step_time_ms"].tolist())
    assert (moved.trace.start_ps >= 0).all()
    assert moved.trace.n_events == prof.trace.n_events
    kept = pd.DataFrame({"a": prof.events["duration_ns"], "b": moved.events["duration_ns"]})
    assert (kept["a"] == kept["b"]).all()


def notice_of(clock_us: dict[str, float]) -> str:
    return results_of(*(host(name, range(9), clock_us=us) for name, us in clock_us.items())).workers.clocks.notice


def test_clocks_that_fall_into_two_halves_are_told_of() -> None:
    assert notice_of({"a": 0.0, "b": 0.0, "c": 2_500.0, "d": 2_500.0}).startswith(
        "The clocks of the 4 hosts disagree by much of a step: that of a is 2.50 ms behind the others'."
    )


@pytest.mark.parametrize(
    ("clock_us", "words"), [(5 * 86_400e6, "5.00 days behind"), (7_200e6, "2.00 hours behind"), (90e6, "90.0 s behind")]
)
def test_clocks_far_apart_are_told_of_in_a_unit_that_fits(clock_us: float, words: str) -> None:
    assert words in notice_of({"a": 0.0, "b": -clock_us, "c": 0.0})


def short_beside(n_hosts: int, n_steps: int, **short: range) -> Analysis:
    """Hosts with all steps, and some with fewer."""
    files = [host(f"h{i:02d}", range(n_steps)) for i in range(n_hosts)]
    return results_of(*files, *(host(name, steps) for name, steps in short.items()))


def test_a_host_with_hardly_any_steps_is_left_out_and_named_and_cuts_nobody() -> None:
    workers = short_beside(23, 30, short=range(12, 13)).workers
    assert workers.n_steps == 30
    assert workers.hosts == tuple(f"h{i:02d}" for i in range(23))
    assert workers.left_out == ("short",)
    assert workers.note == "With too few of the others' steps and therefore not compared: short."


def test_who_has_half_of_the_steps_is_kept() -> None:
    workers = short_beside(4, 12, half=range(3, 9)).workers
    assert (workers.n_steps, workers.left_out) == (6, ())
    assert workers.hosts[-1] == "half"


def ends_of(prof: tfprof.Profile) -> pd.DataFrame:
    steps = prof.workers.assign(end_ms=prof.workers["start_ms"] + prof.workers["step_time_ms"])
    return steps.pivot(index="step", columns="host", values="end_ms")


def test_a_reduced_profile_is_aligned_too(tmp_path: Path) -> None:
    prof = tfprof.load(Cluster(20, n_steps=5, clock_us={4: 40_000.0}).draw(tmp_path))
    assert not prof.has_events
    assert any("off by much of a step" in notice for notice in prof.notices)
    moved = prof.aligned()
    assert not moved.has_events
    ends = ends_of(moved)
    assert (ends.max(axis=1) - ends.min(axis=1)).max() < 0.01
    assert len(moved.host(host_name(4)).steps) == 5
