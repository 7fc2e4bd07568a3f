"""The environments of the matrix: a Python, what is installed before the package, and variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hatchling.metadata.core import ProjectMetadata

from tfprof_widgets.capture import lowest_versions

ROOT = Path(__file__).resolve().parents[3]
COLAB = Path(__file__).parent / "colab.txt"
"""What Colab has of what we and its notebooks need, as its list of 2026-08-19 says: github.com/googlecolab/backend-info."""
KERAS_2 = {"TF_USE_LEGACY_KERAS": "1"}


@dataclass(frozen=True)
class Row:
    """One environment; of what nobody names the newest version that goes with the rest."""

    python: str
    requirements: list[str]
    variables: Mapping[str, str] = field(default_factory=dict)


def requirements() -> list[str]:
    """What `pyproject.toml` says that the package needs, TensorFlow first: an installed package may be of an older one."""
    declared = ProjectMetadata(str(ROOT), None).core
    return [*declared.optional_dependencies["tensorflow"], *declared.dependencies]


def lowest(wanted: Iterable[str]) -> list[str]:
    """All lowest versions at once, with the newest fixes of the oldest TensorFlow."""
    bounds = lowest_versions(wanted)
    return [f"{name}=={version}{'.*' * (name == 'tensorflow')}" for name, version in bounds.items()]


def colab() -> list[str]:
    """What Colab has, each with its version."""
    return [line for line in COLAB.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


ROWS: dict[str, Row] = {
    "lowest": Row("3.10", lowest(requirements())),
    "2.16": Row("3.11", ["tensorflow==2.16.*"]),
    "2.16-keras-2": Row("3.12", ["tensorflow==2.16.*", "tf_keras==2.16.*"], KERAS_2),
    "2.17": Row("3.12", ["tensorflow==2.17.*"]),
    "2.18": Row("3.12", ["tensorflow==2.18.*"]),
    "colab": Row("3.13", colab()),
    "2.21-oldest-python": Row("3.10", ["tensorflow==2.21.*"]),
    "2.21-keras-2": Row("3.13", ["tensorflow==2.21.*", "tf_keras==2.21.*"], KERAS_2),
    "2.21": Row("3.13", ["tensorflow==2.21.*"]),
}
