"""versions: the packages a profile needs -> whether each is there, in a supported version, and the one that runs."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from ...trace.unrecorded import framework_of_keras
from .check import Check, ok, unknown, warning

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
_RECORDED_BY = {
    "jax": 'jax.profiler.start_trace("logs"); model.fit(...); jax.profiler.stop_trace(); tfprof.load("logs")',
    "torch": "with torch.profiler.profile() as recorded: model.fit(...)",
}
_MODULES = {"protobuf": "google.protobuf"}
"""What a package is imported as, where that is not its name."""


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
    running = getattr(sys.modules.get(_MODULES.get(name, name)), "__version__", None)
    return PackageFacts(name, installed_version(name), running if isinstance(running, str) else "")


def installed_version(name: str) -> str:
    """Return the version of a package on disk; empty where it is not installed."""
    found = _distribution(name)
    return str(found.version or "") if found else ""


def _distribution(name: str) -> importlib.metadata.Distribution | None:
    for one in _DISTRIBUTIONS.get(name, (name,)):
        try:
            return importlib.metadata.distribution(one)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def needed_python() -> str:
    """The lowest version of Python that works, as the package's metadata says; empty where it is not installed."""
    found = _distribution("tfprof_widgets")
    return _lowest(SpecifierSet(found.metadata["Requires-Python"])) if found else ""


def needed_packages() -> dict[str, str]:
    """Package -> lowest version that works; empty: any. In the order of a report.

    They are those of pyproject.toml, as the metadata of the installed package has them, and of Keras what TensorFlow needs.
    """
    own = lowest_versions(_requirements("tfprof_widgets"), extra="tensorflow")
    keras = lowest_versions(text for text in _requirements("tensorflow") if text.startswith("keras"))
    first = {"tensorflow": "", "keras": keras.get("keras", ""), "tfprof_widgets": ""}
    return {**first, **own}


def _requirements(name: str) -> list[str]:
    found = _distribution(name)
    return list(found.requires or ()) if found else []


def lowest_versions(requirements: Iterable[str], extra: str = "") -> dict[str, str]:
    """Package -> lowest version, of those requirements that are for this machine and, besides all, for one extra."""
    parsed = [Requirement(text) for text in requirements]
    return {
        one.name: _lowest(one.specifier)
        for one in parsed
        if one.marker is None or one.marker.evaluate({"extra": extra})
    }


def _lowest(allowed: SpecifierSet) -> str:
    return next((one.version for one in allowed if one.operator == ">="), "")


def version_checks() -> Iterator[Check]:
    """Check Python and each package that is needed."""
    yield python_check(python_facts(), needed_python())
    for name, at_least in needed_packages().items():
        yield package_check(package_facts(name), at_least)


def backend_check(backend: str) -> Check:
    """Check that Keras, where the program has imported it, runs on TensorFlow, which alone is profiled."""
    name = "keras_backend"
    if backend in ("", "tensorflow"):
        return ok(name, "TensorFlow" if backend else "Keras is not imported")
    found = f"{framework_of_keras(backend)}: TensorFlow's profiler records nothing of it"
    return warning(name, found, _RECORDED_BY.get(backend, 'os.environ["KERAS_BACKEND"] = "tensorflow"'))


def python_check(facts: PackageFacts, at_least: str) -> Check:
    """Check the interpreter."""
    if is_older(facts.running, at_least):
        return warning("python", f"{facts.running}; {at_least} or later is needed", "conda create -n tf python=3.12")
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
            found = "not installed: it runs from its folder, and which versions it needs is not looked at"
            return unknown(facts.name, found, "pip install .  # in that folder")
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
