"""The kernels of the tests in `tests/notebook`."""

from __future__ import annotations

from tests.notebook.conftest import forked_kernels  # noqa: F401 -- a fixture
