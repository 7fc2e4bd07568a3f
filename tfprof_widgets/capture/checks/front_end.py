"""The process around this kernel -> `FrontEndFacts`: which page shows the output, and what that page has."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXTENSIONS = ("@jupyter-widgets/jupyterlab-manager", "anywidget")
"""What JupyterLab and Notebook 7 need in `share/jupyter/labextensions` to draw our widgets."""

_ENVIRONMENT = (
    "COLAB_RELEASE_TAG",
    "KAGGLE_KERNEL_RUN_TYPE",
    "DATABRICKS_RUNTIME_VERSION",
    "VOILA_KERNEL_ID",
    "VOILA_BASE_URL",
    "JPY_SESSION_NAME",
    "VSCODE_PID",
    "VSCODE_CWD",
)


@dataclass(frozen=True)
class FrontEndFacts:
    """What the kernel knows of its page, without a message."""

    has_shell: bool = False
    has_kernel: bool = False
    """Whether output goes to a front end, not to a terminal."""
    variables: frozenset[str] = frozenset()
    """Environment variables of front ends that are set and not empty."""
    is_colab: bool = False
    """Whether Colab's own module is loaded."""
    is_vscode_notebook: bool = False
    """Whether the kernel knows the notebook's path from VS Code."""
    is_lite: bool = False
    """Whether Python runs in the browser."""
    parent: tuple[str, ...] = ()
    """The command line of the server that started the kernel; empty where unknown."""
    missing: tuple[str, ...] | None = None
    """`EXTENSIONS` that the server lacks; None where its folders are unknown."""


def gather_front_end_facts() -> FrontEndFacts:
    """Look at IPython, the environment and the parent process."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    has_kernel = getattr(shell, "kernel", None) is not None
    parent = _parent(os.environ) if has_kernel else ()
    return FrontEndFacts(
        has_shell=shell is not None,
        has_kernel=has_kernel,
        variables=frozenset(name for name in _ENVIRONMENT if os.environ.get(name)),
        is_colab="google.colab" in sys.modules,
        is_vscode_notebook=bool(shell is not None and "__vsc_ipynb_file__" in shell.user_ns),
        is_lite=sys.platform == "emscripten",
        parent=parent,
        missing=missing_extensions(parent, os.environ),
    )


def _parent(environ: Mapping[str, str]) -> tuple[str, ...]:
    pid = environ.get("JPY_PARENT_PID", "")
    if not pid.isdigit():
        return ()
    import psutil

    try:
        return tuple(psutil.Process(int(pid)).cmdline())
    except (psutil.Error, OSError):  # gone, or another user's
        return ()


def missing_extensions(parent: tuple[str, ...], environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return which of `EXTENSIONS` a JupyterLab or Notebook server lacks; its environment need not be the kernel's."""
    prefix = server_prefix(parent)
    if prefix is None:
        return None
    data = [Path(p) for p in environ.get("JUPYTER_PATH", "").split(os.pathsep) if p]
    data += [Path(environ["JUPYTER_DATA_DIR"])] if environ.get("JUPYTER_DATA_DIR") else []
    data += [Path.home() / ".local" / "share" / "jupyter", Path.home() / "Library" / "Jupyter"]
    data += [prefix / "share" / "jupyter", Path("/usr/local/share/jupyter"), Path("/usr/share/jupyter")]
    return tuple(name for name in EXTENSIONS if not any((d / "labextensions" / name).is_dir() for d in data))


def server_prefix(parent: tuple[str, ...]) -> Path | None:
    """Return the environment that a server's command belongs to: of `/opt/conda/bin/jupyter-lab` that is `/opt/conda`."""
    for folder in _program_folders(parent):
        prefix = folder.parent
        if folder.name in ("bin", "Scripts") and (prefix / "share" / "jupyter").is_dir():
            return prefix
    return None


def _program_folders(parent: tuple[str, ...]) -> Iterator[Path]:
    # The script first: `python` may be a link of another environment.
    for word in reversed(parent[:3]):
        if Path(word).is_absolute():
            yield Path(word).parent
