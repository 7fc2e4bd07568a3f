"""Hosts on their way to the browser: which there are, and the steps and totals of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import event, line, plane, session, space
from tests.cluster import Cluster
from tests.two_hosts import BARE, FULL, write_two_hosts
from tfprof_widgets.analysis import Analysis, merge_hosts, summarize_host
from tfprof_widgets.read import open_traces, read_xspace
from tfprof_widgets.show import MAX_BYTES, Payload, TableSection, build_payload

N_MANY = 300
"""Hosts of the larger run; the first pack has to leave some of it to parts."""


def section(payload: Payload, name: str) -> dict[str, np.ndarray]:
    found = payload.contents.sections[name]
    assert isinstance(found, TableSection)
    return {key: np.asarray(values) for key, (values, _) in found.build(slice(0, found.n_rows)).columns.items()}


def meta(payload: Payload) -> dict[str, Any]:
    return payload.contents.meta


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = write_two_hosts(tmp_path_factory.mktemp("wire_two_hosts"))
    return [open_traces(file).trace for file in sorted(folder.glob("*.xplane.pb"))]


@pytest.fixture(scope="module", params=["whole", "reduced"])
def results(request: pytest.FixtureRequest, traces: list[Any]) -> Analysis:
    from tfprof_widgets.trace import merge_traces

    if request.param == "whole":
        return Analysis(merge_traces(traces))
    return merge_hosts([summarize_host(Analysis(one)) for one in traces])


def test_the_meta_object_names_hosts_and_roles(results: Analysis) -> None:
    told = meta(build_payload(results))
    assert told["hosts"] == [FULL, BARE]
    assert told["host_roles"] == ["worker", "coordinator"]
    assert told["is_summed"] is not results.has_events
    json.dumps(told)


def test_the_meta_object_says_whether_any_host_recorded_memory(results: Analysis) -> None:
    assert meta(build_payload(results))["n_allocators"] == len(results.memory.allocators) > 0
    content = dict(Cluster(1).files())["worker0000"]
    nothing = merge_hosts([summarize_host(Analysis(read_xspace(content)))])
    assert meta(build_payload(nothing))["n_allocators"] == 0


def test_steps_name_their_host(results: Analysis) -> None:
    payload = build_payload(results)
    hosts = [meta(payload)["hosts"][i] for i in section(payload, "steps")["host"].tolist()]
    assert hosts == results.steps.frame["host"].tolist()


def test_totals_of_units_of_all_hosts_add_up_to_those_of_the_capture(results: Analysis) -> None:
    payload = build_payload(results)
    of_hosts, of_all = section(payload, "host_totals"), section(payload, "unit_totals")
    for column in ("total_ps", "self_ps"):
        sums = np.bincount(of_hosts["unit"], weights=of_hosts[column])
        np.testing.assert_array_equal(sums[of_all["unit"]], of_all[column])
    assert set(of_hosts["host"].tolist()) == {0, 1}


def test_one_host_has_no_totals_host_by_host() -> None:
    content = space(session(), plane("/host:CPU", line("main", event("net/op:MatMul", 0, 5))), hostnames=["a"])
    payload = build_payload(Analysis(read_xspace(content)))
    assert "host_totals" not in payload.contents.sections
    assert meta(payload)["hosts"] == ["a"]
    assert meta(payload)["is_summed"] is False


def test_hundreds_of_hosts_fit_the_first_pack_and_parts(tmp_path: Path) -> None:
    run = Cluster(2).draw(tmp_path)
    typical = summarize_host(Analysis(open_traces(run / "worker0000.xplane.pb").trace))
    payload = build_payload(merge_hosts([typical.renamed(f"worker{i:04d}") for i in range(N_MANY)]))
    assert len(payload.overview) <= MAX_BYTES
    assert len(meta(payload)["hosts"]) == N_MANY
    assert all(len(payload.part(key)) <= 4 * 2**20 for key in payload.keys)
