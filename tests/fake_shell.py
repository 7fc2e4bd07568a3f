"""IPython's shell in a kernel in which a cell runs, as far as this package uses it."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import ipywidgets  # noqa: F401 - it needs the real IPython when it is imported
import pytest


class FakeShell:
    """`get_ipython()` gives it from `install` on."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []
        """What happens when the cell ends."""
        self.repeated: list[Any] = []
        """What happens whenever a cell ends or a message is answered."""
        self.published: list[dict[str, Any]] = []
        """The outputs of the cell beside its own."""
        self.message: dict[str, Any] = {"header": {"msg_type": "execute_request", "msg_id": "1"}}
        """What the kernel works on."""
        self.events = self
        self.kernel = self
        self.display_pub = SimpleNamespace(publish=self.published.append)

    def install(self, patch: pytest.MonkeyPatch) -> FakeShell:
        """Have it found."""
        patch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: self))
        return self

    def get_parent(self) -> dict[str, Any]:
        return self.message

    def register(self, name: str, function: Any) -> None:
        known = {"post_run_cell": self.waiting, "post_execute": self.repeated}[name]
        if function not in known:
            known.append(function)

    def unregister(self, name: str, function: Any) -> None:
        self.waiting.remove(function)

    def end_cell(self) -> None:
        for function in self.repeated:
            function()
        for function in list(self.waiting):
            function(SimpleNamespace(success=True))
