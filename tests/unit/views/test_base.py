"""What all views have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfprof_widgets.show import built, library


def test_a_view_that_was_not_built_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(library, "STATIC", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"page\.js is missing.*make js"):
        built("page.js")
