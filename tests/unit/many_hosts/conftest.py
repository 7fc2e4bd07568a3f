"""Runs of many hosts, whole and damaged, and what makes processes of this machine read them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cluster import Cluster, host_name
from tests.unit.many_hosts.reduced_run import N_HOSTS
from tfprof_widgets.opening import host_pool


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of more hosts than are read whole; one of them computes slowly."""
    cluster = Cluster(N_HOSTS, n_steps=6, slow_compute={7: 1.5})
    return cluster.draw(tmp_path_factory.mktemp("many-hosts"))


@pytest.fixture
def damaged(run: Path, tmp_path: Path) -> Path:
    """The same run with two files that cannot be read."""
    copy = tmp_path / "damaged" / run.name
    shutil.copytree(run, copy)
    (copy / f"{host_name(3)}.xplane.pb").write_bytes(b"\xff" * 100)
    (copy / f"{host_name(5)}.xplane.pb").write_bytes(b"")
    return copy


@pytest.fixture
def always_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes however little there is to do."""
    monkeypatch.setattr(host_pool, "START_S", 0.0)
    monkeypatch.setattr(host_pool, "n_cpus", lambda: 2)


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for what processes note."""
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv("TFPROF_TEST_PARENT", str(os.getpid()))
    monkeypatch.setenv("TFPROF_TEST_NOTES", str(folder))
    return folder
