"""Directories behind URLs, for each test one."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import fsspec
import pytest

from tests.unit.opening.served import Handler, Served, Server

_numbers = itertools.count()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Served]:
    """A directory behind a web server of this machine."""
    directory = tmp_path / "served"
    directory.mkdir()
    handler = type("Handler", (Handler,), {"asked": []})
    with Server(("127.0.0.1", 0), partial(handler, directory=str(directory))) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        served = Served(f"http://127.0.0.1:{server.server_port}", directory)
        served.asked = handler.asked
        yield served
        server.shutdown()
        thread.join()


@pytest.fixture
def memory() -> Iterator[Served]:
    """A directory in fsspec's memory."""
    served = Served(f"memory://urls{next(_numbers)}")
    yield served
    if fsspec.filesystem("memory").exists(served.url):
        served.remove()


@pytest.fixture
def local(tmp_path: Path) -> Served:
    """A directory of this machine."""
    return Served(str(tmp_path / "local"), tmp_path / "local")


@pytest.fixture(params=["local", "memory", "web"])
def place(request: pytest.FixtureRequest) -> Served:
    """Any of the three."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["memory", "web"])
def served(request: pytest.FixtureRequest) -> Served:
    """One of the two that have URLs."""
    return request.getfixturevalue(request.param)
