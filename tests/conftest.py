"""Fixtures that many tests share: real captures, each unpacked or made once a session."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from tests import captures
from tests.captures import committed

# A busy machine must not decide about a property: neither the time of one example nor that of making them.
# Each run draws others: fifty a run find in two what a hundred find in one.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
settings.load_profile("any machine")

# Hundreds of processes import this package: a Python that keeps no bytecode would compile it in each.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job is started deaf to it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# To import nbformat takes 5 s where this package is installed: it builds a grammar of addresses that no notebook of ours has.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# The default depends on the CPU, and with it the names of ops and allocators; `capture/test_onednn.py` has it on. And with it on,
# TensorFlow 2.21 does not survive an op that runs out of memory, which tests have it do.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")


NIGHTLY = Path(__file__).parent / "nightly"
OF_TENSORFLOW = frozenset(("scenario", "first_profiler"))
"""Fixtures that run it."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark who takes TensorFlow's fixtures, and leave out what only `make nightly` runs, unless `-m` has the word.

    That is the folder of that name, and what is marked so.
    """
    folder = f"{NIGHTLY}{os.sep}"  # a comparison of paths would take a second of each process
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.nightly)
        if not OF_TENSORFLOW.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.tensorflow)
    if "nightly" not in config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("nightly")])
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The folder is not even imported."""
    return True if collection_path == NIGHTLY and "nightly" not in config.option.markexpr else None


@cache
def is_in_lab(file: str) -> bool:
    """Whether the tests of a file need JupyterLab."""
    return file.startswith("tests/browser/") and "lab_server" in (NIGHTLY.parents[1] / file).read_text(encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file goes to one process as a whole, and all that need JupyterLab to the same one: it is started and loaded once."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            if file == "tests/unit/test_tables.py":  # a capture each: it is long, and among the last
                return f"{file} {nodeid.partition('[')[2].rstrip('0123456789]')}"
            return "lab" if is_in_lab(file) else file

    return Scheduling(config, log)


def pytest_collection_finish() -> None:
    """Have the collector of garbage leave out what stays: it took a quarter of the time of thousands of small tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="session")
def shared_directory(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A directory that all processes of this session of tests share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@pytest.fixture(scope="session")
def capture_of(shared_directory: Path, request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """`capture_of(kind)`: the xplane.pb of a capture in `tests/data`, or of a program of `tests.captures`, run once a session."""

    def capture(kind: str) -> Path:
        directory = shared_directory / "captures" / kind
        directory.mkdir(parents=True, exist_ok=True)
        with FileLock(directory / "lock"):
            if not (directory / "whole").exists():
                if kind in committed.NAMES:
                    committed.unpack(kind, directory / "run")
                else:
                    assert "not tensorflow" not in request.config.option.markexpr, (
                        f"mark the test of {kind}: tensorflow"
                    )
                    captures.capture(kind, directory / "run")
                (directory / "run").rename(directory / "whole")
        (found,) = directory.glob(f"whole/{captures.XPLANE}")
        return found

    return capture


@pytest.fixture(scope="session")
def keras_xplane(capture_of: Callable[[str], Path]) -> Path:
    """A Keras `fit` of two epochs of marked steps on the CPU, with tensor memory recorded."""
    return capture_of("keras_fit")


@pytest.fixture(scope="session")
def v100_xplane(capture_of: Callable[[str], Path]) -> Path:
    """A GPU capture of 2020: one BERT step on 8 V100."""
    return capture_of("v100")
