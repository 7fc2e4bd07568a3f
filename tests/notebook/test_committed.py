"""The notebooks as they are in the repository; `test_quickstart.py` and `tests/nightly` run them."""

from __future__ import annotations

import pytest

from tests.notebook.committed import FOLDER, committed

NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_committed_without_outputs(name: str) -> None:
    for cell in committed(name).cells:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
