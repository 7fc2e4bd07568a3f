"""Where this process runs -> the shell of IPython's kernel, without an import of IPython, and what its front end can do."""

from __future__ import annotations

import sys
from typing import Any, Literal


def kernel_shell() -> Any:
    """IPython's shell where it runs in a kernel, whose front end may have widgets; None elsewhere."""
    ipython = sys.modules.get("IPython")
    found = ipython.get_ipython() if ipython is not None else None
    return found if getattr(found, "kernel", None) is not None else None


def replaceable() -> Literal["nothing", "text", "all"]:
    """What of the running cell's output can be replaced while it stands there, as far as is known.

    JupyterLab and Notebook put anything in the place of anything. VS Code and Colab put text in the place of text; of widgets
    that is not known. Consoles do neither, and whoever runs a notebook as a program looks at no output before its end: neither
    says which cell it runs. What an `Output` widget or `%%capture` takes, is taken once.
    """
    found = kernel_shell()
    if found is None or not hasattr(found.display_pub, "register_hook") or is_in_output_widget():
        return "nothing"
    metadata = found.kernel.get_parent().get("metadata", {})
    if {"cellId", "deletedCells"} <= metadata.keys():
        return "all"
    return "text" if metadata.get("cellId") or "google.colab" in sys.modules else "nothing"


def is_in_output_widget() -> bool:
    """Whether an `Output` widget takes what the running cell displays."""
    if "ipywidgets" not in sys.modules:
        return False
    from ipywidgets import Output

    from .open_widgets import open_widgets

    return any(isinstance(widget, Output) and widget.msg_id for widget in open_widgets())


def is_cell_running() -> bool:
    """Whether a cell of a kernel runs, not a message of its front end or nothing."""
    found = kernel_shell()
    parent = found.kernel.get_parent() if found is not None else {}
    return bool(parent.get("header", {}).get("msg_type") == "execute_request")
