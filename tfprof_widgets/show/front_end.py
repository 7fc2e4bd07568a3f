"""The front end of the running cell -> its kernel's shell and what it can show; needs neither IPython nor ipywidgets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import ipywidgets


def kernel_shell() -> Any:
    """IPython's shell where it runs in a kernel, whose front end may have widgets; None elsewhere."""
    ipython = sys.modules.get("IPython")
    found = ipython.get_ipython() if ipython is not None else None
    return found if getattr(found, "kernel", None) is not None else None


def replaceable() -> Literal["nothing", "text", "all"]:
    """What of the running cell's output can be replaced: JupyterLab and Notebook take anything, VS Code and Colab text."""
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

    return any(isinstance(widget, Output) and widget.msg_id for widget in open_widgets())


def is_cell_running() -> bool:
    """Whether a cell of a kernel runs, not a message of its front end or nothing."""
    found = kernel_shell()
    parent = found.kernel.get_parent() if found is not None else {}
    return bool(parent.get("header", {}).get("msg_type") == "execute_request")


def open_widgets() -> list[ipywidgets.Widget]:
    """List them; ipywidgets has no public list: version 8 keeps it in its module, version 7 (as of Colab) in the class."""
    import ipywidgets
    from ipywidgets.widgets import widget as module

    kept = module._instances if hasattr(module, "_instances") else ipywidgets.Widget.widgets
    return list(kept.values())
