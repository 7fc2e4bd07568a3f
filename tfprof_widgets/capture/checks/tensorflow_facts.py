"""tensorflow_facts: a TensorFlow that may or may not run -> its state, read without importing or starting it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .check import text_of


@dataclass(frozen=True)
class BuildFacts:
    """How the installed TensorFlow was built; read from its files."""

    folder: Path | None = None
    """Where the package is; None: not installed."""
    is_cuda: bool | None = None
    is_rocm: bool = False
    cuda_version: str = ""
    cupti_requirement: str = ""
    """The package that brings the right CUPTI, as TensorFlow's own metadata names it: `nvidia-cuda-cupti-cu12>=12.5.82`."""


def imported_tensorflow() -> Any:
    """Return the `tensorflow` of this process where its import is done, else None. Imports nothing."""
    tf = sys.modules.get("tensorflow")
    return tf if tf is not None and hasattr(tf, "profiler") and hasattr(tf, "config") else None


def is_started() -> bool | None:
    """Whether TensorFlow has run an op, and so chosen its allocators; None: nobody can tell."""
    if imported_tensorflow() is None:
        return False
    # No public name tells this; the private one has been there since 2.0, and its absence is an answer too.
    context = sys.modules.get("tensorflow.python.eager.context")
    find = getattr(context, "context_safe", None)
    if find is None:
        return None
    state = find()
    if state is None:
        return False
    started = getattr(state, "_initialized", None)
    return started if isinstance(started, bool) else None


def build_facts() -> BuildFacts:
    """Read how TensorFlow was built from what lies beside it."""
    try:
        spec = importlib.util.find_spec("tensorflow")
    except (ImportError, ValueError):  # ValueError: a module put into `sys.modules` by hand
        spec = None
    if spec is None or not spec.origin:
        return BuildFacts()
    folder = Path(spec.origin).parent
    text = text_of(folder / "python" / "platform" / "build_info.py")
    return parse_build_info(text, folder=folder, cupti_requirement=_cupti_requirement())


def parse_build_info(text: str, *, folder: Path | None, cupti_requirement: str = "") -> BuildFacts:
    """Take the facts out of the text of TensorFlow's `build_info.py`."""
    is_cuda = re.search(r"'is_cuda_build',\s*(True|False)", text)
    cuda_version = re.search(r"'cuda_version',\s*'([\d.]+)'", text)
    return BuildFacts(
        folder=folder,
        is_cuda=None if is_cuda is None else is_cuda.group(1) == "True",
        is_rocm=re.search(r"'is_rocm_build',\s*True", text) is not None,
        cuda_version=cuda_version.group(1) if cuda_version else "",
        cupti_requirement=cupti_requirement,
    )


def _cupti_requirement() -> str:
    try:
        requirements = importlib.metadata.requires("tensorflow") or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    return next((r.partition(";")[0].strip() for r in requirements if r.startswith("nvidia-cuda-cupti")), "")
