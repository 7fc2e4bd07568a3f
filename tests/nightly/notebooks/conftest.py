"""The kernels of the tests in `tests/notebook`, and each notebook that a file here names, run once."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from tests.notebook.committed import executed, text_of
from tests.notebook.conftest import forked_kernels  # noqa: F401 -- a fixture


@pytest.fixture(scope="module")
def notebook(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """`NOTEBOOK` of the module, run, with a cell of `FACTS` at its end."""
    name = request.module.NOTEBOOK
    return executed(name, request.module.FACTS, tmp_path_factory.mktemp(name))


@pytest.fixture(scope="module")
def facts(notebook: nbformat.NotebookNode) -> dict[str, Any]:
    """What that cell prints."""
    found: dict[str, Any] = json.loads(text_of(notebook.cells[-1], "stdout"))
    return found
