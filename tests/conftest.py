"""Fixtures that many tests share: real captures, each made once a session."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from tests import captures

# A busy machine must not decide about a property: neither the time of one example nor that of making them.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# The default depends on the CPU, and with it the names of ops and allocators; `capture/test_onednn.py` has it on. And with it on,
# TensorFlow 2.21 does not survive an op that runs out of memory, which tests have it do.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

V100 = Path(__file__).parents[1].parent / "shared" / "traces" / "v100_bert_8gpu.xplane.pb"


@pytest.fixture(scope="session")
def shared_directory(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A directory that all processes of this session of tests share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@pytest.fixture(scope="session")
def capture_of(shared_directory: Path) -> Callable[[str], Path]:
    """`capture_of(kind)`: the xplane.pb of one kind of `tests.captures`, run at most once a session."""

    def capture(kind: str) -> Path:
        directory = shared_directory / "captures" / kind
        directory.mkdir(parents=True, exist_ok=True)
        with FileLock(directory / "lock"):
            found = list(directory.glob(f"whole/{captures.XPLANE}"))
            if found:
                return found[0]
            made = captures.capture(kind, directory / "run")
            (directory / "run").rename(directory / "whole")
            return directory / "whole" / made.relative_to(directory / "run")

    return capture


@pytest.fixture(scope="session")
def keras_xplane(capture_of: Callable[[str], Path]) -> Path:
    """A Keras `fit` of 40 marked steps on the CPU, with tensor memory recorded."""
    return capture_of("keras_fit")


@pytest.fixture(scope="session")
def v100_xplane() -> Path:
    """A GPU capture of 2020: one BERT step on 8 V100."""
    if not V100.exists():
        pytest.skip(f"{V100} is absent: it is not part of the repository")
    return V100
