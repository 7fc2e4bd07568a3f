"""Parts of steps are called alike in Python and in the browser."""

from __future__ import annotations

import re
from pathlib import Path

from tfprof_widgets.analysis import CATEGORY_LABELS, STEP_CATEGORIES

CATEGORIES = Path(__file__).parents[4] / "js" / "src" / "data" / "meta.ts"


def test_labels_of_the_browser_are_those_of_python() -> None:
    table = CATEGORIES.read_text(encoding="utf-8").partition("CATEGORY_LABELS")[2].partition("};")[0]
    assert dict(re.findall(r'(\w+): "([^"]+)"', table)) == dict(zip(STEP_CATEGORIES, CATEGORY_LABELS, strict=True))
