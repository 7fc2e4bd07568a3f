"""A selected host has all its tables, about that host alone, and every view is about it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import traitlets

import tfprof_widgets as tfprof
from tests.browser.full_run import OTHER, PLAIN
from tests.cluster import Cluster, host_name
from tests.two_hosts import BARE, BARE_OP, FULL, write_two_hosts
from tfprof_widgets.errors import TfProfError


@pytest.fixture(scope="module")
def prof(tmp_path_factory: pytest.TempPathFactory) -> tfprof.Profile:
    return tfprof.load(write_two_hosts(tmp_path_factory.mktemp("selected_host") / "run"))


def test_a_host_and_a_range_restrict_together(prof: tfprof.Profile) -> None:
    steps = prof.select(host=BARE).steps
    assert set(steps["host"]) == {BARE}
    first = steps.index[0]
    part = prof.select(host=BARE, step=int(first))
    assert part.ops.set_index("name")["occurrences"].to_dict() == {PLAIN.op: 1, BARE_OP: 1}
    assert part.steps["step"].tolist() == [first]
    assert set(part.events["name"]) == {"train", f"{PLAIN.op}:MatMul", f"{BARE_OP}:Softmax"}
    assert repr(part).startswith(f"Selection({BARE}: ")


def test_memory_is_that_of_the_host_that_recorded_it(prof: tfprof.Profile) -> None:
    selected = prof.select(host=FULL).memory(PLAIN.allocator)
    assert len(selected) == len(prof.memory.timeline(PLAIN.allocator)) > 0
    assert OTHER in set(selected["op"])
    with pytest.raises(KeyError, match="no allocator 'GPU_0_bfc' on projects/"):
        prof.select(host=BARE).memory(PLAIN.allocator)


def test_an_unknown_host_is_refused_by_name(prof: tfprof.Profile) -> None:
    prof.select(host=BARE)
    with pytest.raises(ValueError, match=f"no host 'worker-7'; the profile has '{FULL}'"):
        prof.select(host="worker-7")
    assert prof.link.host == BARE
    with pytest.raises(traitlets.TraitError, match=f"'worker-7', there are: {FULL}"):
        prof.link.host = "worker-7"
    assert prof.link.host == BARE


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> tfprof.Profile:
    cluster = Cluster(6, n_steps=6, slow_compute={3: 1.5})
    with ThreadPoolExecutor(1) as executor:
        prof = tfprof.load(cluster.draw(tmp_path_factory.mktemp("selected_host_of_many")), executor=executor)
        assert not prof.has_events
        return prof


def test_the_ops_of_a_host_of_a_reduced_profile_are_those_of_its_file(reduced: tfprof.Profile) -> None:
    columns = ["name", "occurrences", "total_time_us", "total_self_time_us", "self_time_ratio"]
    alone = reduced.host(host_name(3)).ops[columns]
    selected = reduced.select(host=host_name(3)).ops[columns]
    assert selected["name"].tolist() == alone["name"].tolist()
    for column in columns[1:]:
        assert selected[column].tolist() == pytest.approx(alone[column].tolist()), column
    assert set(reduced.select(host=host_name(3)).steps["host"]) == {host_name(3)}


@pytest.mark.parametrize("part", [{"step": 2}, {"step": 2, "host": host_name(3)}])
def test_a_range_of_a_reduced_profile_says_what_to_open(reduced: tfprof.Profile, part: dict[str, object]) -> None:
    selection = reduced.select(**part)  # type: ignore[arg-type]
    for table in ("ops", "kernels", "hlo_ops"):
        with pytest.raises(TfProfError, match=r"open a host in full, prof\.host\('worker000\d'\)"):
            getattr(selection, table)
