"""Real runs that several tests of the analyses read, each made once a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.analysis.input.tf_data_runs import capture_all
from tests.unit.analysis.parity.parity_case import Case


@pytest.fixture(scope="session")
def case_of(capture_of: Callable[[str], Path]) -> Callable[[str], Case]:
    """`case_of(kind)`: a capture with both readings, each read once a session."""
    made: dict[str, Case] = {}

    def case(kind: str) -> Case:
        if kind not in made:
            made[kind] = Case(kind, capture_of(kind))
        return made[kind]

    return case


@pytest.fixture(scope="session")
def tf_data_captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The xplane.pb of every kind of `tf_data_runs.py`."""
    return capture_all(tmp_path_factory.mktemp("tf_data"))
