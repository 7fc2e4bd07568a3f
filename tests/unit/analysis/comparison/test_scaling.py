"""Runs of one training with different numbers of workers -> how well it scales."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.builders import Event, event
from tests.cluster import Cluster
from tests.unit.analysis.hosts.drawn_hosts import STEP_US, host, results_of
from tfprof_widgets.capture import Answer
from tfprof_widgets.capturing import _profile_of
from tfprof_widgets.several_runs import ScalingRun, scaling_frame, scaling_sentence


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
    rows = Rows()
    rows.feed(shown["text/html"])
    assert rows.n == 4
    assert repr(scaling) == f"<Scaling: {scaling.sentence}>"


class Rows(HTMLParser):
    """Counts the rows of a page, and that what opens is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def handle_starttag(self, tag: str, _: object) -> None:
        self.n += tag == "tr"


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
