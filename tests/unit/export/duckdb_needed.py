"""Tests that ask DuckDB: they run wherever the `dev` extra is installed, and always in CI."""

from __future__ import annotations

import importlib.util
import os

import pytest

needs_duckdb = pytest.mark.skipif(
    importlib.util.find_spec("duckdb") is None and not os.environ.get("CI"),
    reason="DuckDB, of the dev extra, is not installed",
)
