"""What decides whether the hosts of a run are read in the calling process: only files that cost it little are."""

from __future__ import annotations

import gzip
from pathlib import Path

import fsspec
import pytest

import tfprof_widgets as tfprof
from tests.cluster import Cluster, host_name
from tests.unit.many_hosts import dying_processes
from tests.unit.many_hosts.reduced_run import N_HOSTS
from tfprof_widgets.analysis import many_hosts
from tfprof_widgets.read import known_size, place_of


def swell(file: Path) -> None:
    """Make a trace larger than may be read in the calling process, by a field that no reader knows."""
    n = many_hosts.MOST_BYTES
    head, left = bytearray([15 << 3 | 2]), n
    while left > 127:
        head.append(left & 127 | 128)
        left >>= 7
    file.write_bytes(file.read_bytes() + bytes([*head, left]) + bytes(n))


def pack(file: Path) -> None:
    """Compress a trace: what it unpacks to, nobody knows before. Its name may say so or not."""
    file.write_bytes(gzip.compress(file.read_bytes()))


def test_a_run_with_a_large_file_is_not_read_in_the_caller(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Cluster(N_HOSTS, n_steps=2).draw(tmp_path / "run")
    swell(run / f"{host_name(0)}.xplane.pb")
    monkeypatch.setattr(many_hosts, "n_cpus", lambda: 1)
    monkeypatch.setattr(many_hosts, "reduce_file", dying_processes.dies_never)
    prof = tfprof.load(run)
    assert len(set(prof.steps["host"])) == N_HOSTS
    assert not list(notes.iterdir())


def test_a_run_of_tiny_files_is_read_in_the_caller(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Cluster(N_HOSTS, n_steps=1).draw(tmp_path / "run")
    monkeypatch.setattr(many_hosts, "n_cpus", lambda: 2)
    monkeypatch.setattr(many_hosts, "reduce_file", dying_processes.dies_never)
    assert len(set(tfprof.load(run).steps["host"])) == N_HOSTS
    assert [one.name for one in notes.iterdir()] == ["read in the caller"]


def test_the_size_of_a_file_is_known_where_nothing_of_it_must_be_read(tmp_path: Path) -> None:
    file = tmp_path / "worker.xplane.pb"
    file.write_bytes(bytes(1000))
    assert known_size(file) == 1000
    pack(file)
    assert known_size(file) is None
    assert known_size(tmp_path / "nothing.xplane.pb") is None
    fsspec.filesystem("memory").pipe_file("memory://size/worker.xplane.pb", bytes(1000))
    assert known_size(place_of("memory://size/worker.xplane.pb")) is None


def test_files_that_only_the_caller_has_are_read_in_it(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = fsspec.filesystem("memory")
    for name, content in Cluster(N_HOSTS, n_steps=1).files():
        memory.pipe_file(f"memory://alone/{name}.xplane.pb", content)
    monkeypatch.setattr(many_hosts, "reduce_file", dying_processes.dies_never)
    assert len(set(tfprof.load("memory://alone").steps["host"])) == N_HOSTS


@pytest.mark.parametrize(
    ("n_files", "n_bytes", "n_cpus", "is_worth_it"),
    [
        (17, 1_500, 2, False),
        (100, 10_000, 2, False),
        (1_000, 1_500, 2, True),
        (1_000, 1_500, 1, False),
        (100, 500_000, 2, True),
        (100, 500_000, 1, False),
        (17, many_hosts.MOST_BYTES + 1, 1, True),
        (17, None, 1, True),
        (17, None, 2, True),
    ],
)
def test_processes_are_started_for_long_work_and_for_files_that_may_be_large(
    n_files: int, n_bytes: int | None, n_cpus: int, is_worth_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_hosts, "n_cpus", lambda: n_cpus)
    assert many_hosts.HostPool(n_files).is_worth_it([n_bytes] * n_files) is is_worth_it
    assert not many_hosts.HostPool(n_files, can_leave=False).is_worth_it([n_bytes] * n_files)
