"""Runs of many hosts, whole and damaged, and what makes processes of this machine read them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.cluster import Cluster, host_name
from tests.unit.many_hosts.reduced_run import MOST_WHOLE, N_HOSTS
from tfprof_widgets.analysis import many_hosts
from tfprof_widgets.read import opening


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have so few hosts read whole that a run of many is soon read."""
    monkeypatch.setattr(opening, "MOST_WHOLE", MOST_WHOLE)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of more hosts than are read whole; one of them computes slowly."""
    cluster = Cluster(N_HOSTS, n_steps=6, slow_compute={7: 1.5})
    return cluster.draw(tmp_path_factory.mktemp("many-hosts"))


@pytest.fixture(scope="session")
def reduced(run: Path) -> tfprof.Profile:
    """What this process makes of that run."""
    return _loaded(run)


@pytest.fixture(scope="session")
def damaged(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run with two files that cannot be read."""
    copy = tmp_path_factory.mktemp("damaged") / run.name
    shutil.copytree(run, copy)
    (copy / f"{host_name(3)}.xplane.pb").write_bytes(b"\xff" * 100)
    (copy / f"{host_name(5)}.xplane.pb").write_bytes(b"")
    return copy


@pytest.fixture(scope="session")
def reduced_damaged(damaged: Path) -> tfprof.Profile:
    """What this process makes of the damaged run."""
    return _loaded(damaged)


def _loaded(run: Path) -> tfprof.Profile:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "MOST_WHOLE", MOST_WHOLE)
        return tfprof.load(run)


@pytest.fixture
def always_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes however little there is to do."""
    monkeypatch.setattr(many_hosts, "START_S", 0.0)
    monkeypatch.setattr(many_hosts, "n_cpus", lambda: 2)


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for what processes note."""
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv("TFPROF_TEST_PARENT", str(os.getpid()))
    monkeypatch.setenv("TFPROF_TEST_NOTES", str(folder))
    return folder
