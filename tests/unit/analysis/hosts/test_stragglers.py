"""Who holds the others up: exactly the planted hosts, and nobody where there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tests.cluster import Cluster, host_name
from tests.unit.analysis.hosts.drawn_hosts import (
    chief,
    host,
    marked,
    results_of,
    results_of_cluster,
    served_worker,
    server,
)
from tfprof_widgets.analysis import TABLES, Analysis
from tfprof_widgets.show import worker_meta

SEEDS = range(3)


def seldom(*arguments: object, is_usual: bool) -> object:
    """A case that only `make nightly` asks, but for the usual ones."""
    return pytest.param(*arguments, marks=() if is_usual else pytest.mark.nightly)


def planted(n_hosts: int, n_compute: int, n_input: int, seed: int) -> tuple[Mapping[str, str], Analysis]:
    """The category of each planted straggler, and the results."""
    random = np.random.default_rng(seed)
    chosen = random.choice(n_hosts, n_compute + n_input, replace=False).tolist()
    compute, read = chosen[:n_compute], chosen[n_compute:]
    cluster = Cluster(
        n_hosts,
        n_steps=10,
        seed=seed,
        slow_compute={one: 1.3 + 0.1 * i for i, one in enumerate(compute)},
        slow_input={one: 2.8 + 0.2 * i for i, one in enumerate(read)},
    )
    expected = {host_name(one): "host_compute" for one in compute} | {host_name(one): "input" for one in read}
    return expected, results_of_cluster(cluster)


@pytest.mark.parametrize(
    ("n_hosts", "n_compute", "n_input", "seed"),
    [
        seldom(*shape, seed, is_usual=seed == 0 and shape != (100, 1, 0))
        for shape in ((2, 1, 0), (4, 0, 1), (8, 1, 1), (8, 2, 0), (100, 2, 2), (100, 1, 0))
        for seed in SEEDS
    ],
)
def test_exactly_the_planted_stragglers_are_found(n_hosts: int, n_compute: int, n_input: int, seed: int) -> None:
    expected, results = planted(n_hosts, n_compute, n_input, seed)
    found = results.stragglers
    assert dict(zip(found["host"], found["category"], strict=True)) == expected
    assert (found["n_aligned"] == 10).all()
    assert (found["n_steps"] > 8).all()
    assert found["cost_ms"].is_monotonic_decreasing
    assert ((found["cost_ratio"] >= 0.01) & (found["cost_ratio"] < 1)).all()


@pytest.mark.parametrize(
    ("n_hosts", "seed", "jitter_ratio"),
    [
        seldom(n_hosts, seed, ratio, is_usual=seed == 0 and (n_hosts < 100 or ratio == 0.1))
        for n_hosts, seed in (*((n, seed) for n in (2, 3, 8) for seed in SEEDS), (100, 0))
        for ratio in (0.0, 0.02, 0.1)
    ],
)
def test_hosts_that_only_jitter_hold_nobody_up(n_hosts: int, seed: int, jitter_ratio: float) -> None:
    results = results_of_cluster(Cluster(n_hosts, n_steps=10, jitter_ratio=jitter_ratio, seed=seed))
    assert results.stragglers.empty
    assert tuple(results.stragglers.columns) == TABLES["stragglers"].names
    assert [one for one in results.advice if one.rule == "straggler"] == []


def test_hosts_that_exchange_nothing_hold_nobody_up_and_their_clocks_are_not_judged() -> None:
    files = []
    for index, compute_us in enumerate([300, 305, 302, 700, 301, 299]):
        events = [
            one
            for step in range(6)
            for one in [
                replace(
                    event,
                    start_ps=event.start_ps + (step * 1_010 + index * 700) * 10**6,
                    duration_ps=compute_us * 10**6,
                )
                for event in marked(1, ("net/MatMul:MatMul", 0.0, 1.0))
            ]
        ]
        files.append(host(f"h{index}", events))
    results = results_of(*files)
    assert results.workers.n_steps > 0
    assert results.stragglers.empty
    assert results.workers.clocks.notice == ""
    assert results.workers.clocks.shift_ps == {}, "nothing makes their steps end together"


def test_workers_that_wait_for_a_parameter_server_do_not_hold_each_other_up() -> None:
    results = results_of(served_worker(0, 12), served_worker(1, 12, compute_us=550), server(24), chief(12))
    assert results.workers.hosts == ("w0", "w1")
    assert (results.workers.frame["device_collectives_ms"] > 0).any(), "they wait for the server"
    assert not results.workers.wait_for_each_other
    assert results.stragglers.empty
    assert [one for one in results.advice if one.rule == "straggler"] == []
    assert worker_meta(results.workers)["workers_wait"] is False


@pytest.mark.parametrize("n_hosts", [2, 4, 8])
def test_three_steps_are_enough_to_find_a_straggler(n_hosts: int) -> None:
    found = results_of_cluster(Cluster(n_hosts, n_steps=3, slow_compute={1: 1.5})).stragglers
    assert found["host"].tolist() == [host_name(1)]


def test_stragglers_of_two_kinds_have_an_advice_each() -> None:
    results = results_of_cluster(Cluster(12, slow_input={5: 4.0}, slow_compute={2: 1.4, 3: 1.45}))
    found = {one.evidence["category"]: one for one in results.advice if one.rule == "straggler"}
    assert set(found) == {"input", "host_compute"}
    assert found["host_compute"].evidence["n_stragglers"] == 2
    assert found["host_compute"].title.startswith("2 of 12 hosts hold the others up, worker0003 most")
