"""versions: the packages a profile needs -> whether each is there, in a supported version, and the one that runs."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from .check import Check, ok, warning

PYTHON_AT_LEAST = "3.10"
PACKAGES: dict[str, str] = {
    "tensorflow": "2.16",
    "keras": "3.0",
    "tfprof_widgets": "",
    "ipywidgets": "8",
    "anywidget": "0.11",
    "bokeh": "3.4",
}
"""Package -> lowest version that works; empty: any."""

_DISTRIBUTIONS: dict[str, tuple[str, ...]] = {
    "tensorflow": (
        "tensorflow",
        "tensorflow-cpu",
        "tf-nightly",
        "tensorflow-macos",
        "tensorflow-rocm",
        "tensorflow-intel",
    ),
    "tfprof_widgets": ("tfprof-widgets",),
}


@dataclass(frozen=True)
class PackageFacts:
    """What is known of one package."""

    name: str
    installed: str = ""
    """Its version on disk; empty: it is not installed."""
    running: str = ""
    """Its version in this process; empty: it is not imported."""


def python_facts() -> PackageFacts:
    """Return the interpreter's version, as that of a package."""
    return PackageFacts("python", running=platform.python_version())


def package_facts(name: str) -> PackageFacts:
    """Look a package up without importing it."""
    running = getattr(sys.modules.get(name), "__version__", None)
    return PackageFacts(name, installed_version(name), running if isinstance(running, str) else "")


def installed_version(name: str) -> str:
    """Return the version of a package on disk; empty where it is not installed."""
    for distribution in _DISTRIBUTIONS.get(name, (name,)):
        try:
            return str(importlib.metadata.version(distribution) or "")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def version_checks() -> Iterator[Check]:
    """Check Python and each of `PACKAGES`."""
    yield python_check(python_facts())
    for name, at_least in PACKAGES.items():
        yield package_check(package_facts(name), at_least)


def python_check(facts: PackageFacts) -> Check:
    """Check the interpreter."""
    if is_older(facts.running, PYTHON_AT_LEAST):
        return warning(
            "python", f"{facts.running}; {PYTHON_AT_LEAST} or later is needed", "conda create -n tf python=3.12"
        )
    return ok("python", facts.running)


def package_check(facts: PackageFacts, at_least: str) -> Check:
    """Check one package.

    Args:
        facts: what is known of it.
        at_least: its lowest supported version; empty: any.
    """
    wanted = f'pip install -U "{facts.name.replace("_", "-")}{">=" * bool(at_least)}{at_least}"'
    version = facts.running or facts.installed
    if not version:
        if facts.name == "tfprof_widgets":  # a checkout on the path works as well as an installed one
            return ok(facts.name, "not installed: it runs from its folder")
        why = (
            "a capture needs it; opening saved profiles works without"
            if facts.name in ("tensorflow", "keras")
            else "needed"
        )
        return warning(facts.name, f"not installed; {why}", wanted)
    if facts.running and facts.installed and facts.running != facts.installed:
        found = f"{facts.running} runs, but {facts.installed} is installed by now"
        return warning(facts.name, found, "restart the kernel, then run your cells again")
    if is_older(version, at_least):
        return warning(facts.name, f"{version}; {at_least} or later is needed", wanted)
    return ok(facts.name, version)


def is_older(version: str, at_least: str) -> bool:
    """Whether a version is known to come before another; only the numbers before any letter count."""
    return bool(version and at_least) and _numbers(version) < _numbers(at_least)


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in match.group().split(".")] if match else []
    return tuple([*numbers, 0, 0, 0][:3])
