"""Leaves the long fuzz run out unless it is asked for by `-m fuzz`."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "fuzz" in config.option.markexpr:
        return
    long = [item for item in items if item.get_closest_marker("fuzz")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]
