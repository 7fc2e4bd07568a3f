"""What all views have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfprof_widgets.views.widgets import base
from tfprof_widgets.views.widgets.base import built


def test_a_view_that_was_not_built_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(base, "STATIC", tmp_path)
    assert built("timeline.css") == ""
    with pytest.raises(FileNotFoundError, match=r"timeline\.js is missing.*make js"):
        built("timeline.js")
