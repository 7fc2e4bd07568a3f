"""DiffData: the shared-model form of a comparison: all that its view draws but the timelines, as state that survives saving."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import ipywidgets
import traitlets

from ..payload.wire import as_text

_LEVEL = 6


class DiffData(ipywidgets.Widget):  # type: ignore[misc]
    """What changed between two runs. It has no view of its own."""

    packed = traitlets.Unicode().tag(sync=True)
    """Base64 of the zlib-compressed JSON that `js/src/views/diff_panel/comparison.ts` reads."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        text = json.dumps(content, allow_nan=False, separators=(",", ":"))
        super().__init__(packed=as_text(zlib.compress(text.encode("utf-8", "replace"), _LEVEL)))
