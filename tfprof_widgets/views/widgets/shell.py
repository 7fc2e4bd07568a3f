"""Where this process runs -> the shell of IPython's kernel, without an import of IPython."""

from __future__ import annotations

import sys
from typing import Any


def kernel_shell() -> Any:
    """IPython's shell where it runs in a kernel, whose front end may have widgets; None elsewhere."""
    ipython = sys.modules.get("IPython")
    found = ipython.get_ipython() if ipython is not None else None
    return found if getattr(found, "kernel", None) is not None else None
