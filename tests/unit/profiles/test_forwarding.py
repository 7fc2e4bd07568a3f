"""Members that a whole has of its parts: they read as if they were written there."""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import get_type_hints

import pytest

import tfprof_widgets as tfprof
from tfprof_widgets.analysis.graph import options
from tfprof_widgets.profiles.forwarding import method_of, property_of
from tfprof_widgets.views.widgets import diff_panel, timeline, views

KINDS = vars(views) | {"Timeline": timeline.Timeline, "Structure": options.TreeView}


class Engine:
    """A part."""

    def __init__(self) -> None:
        self.power = 3

    @property
    def force(self) -> int:
        """How strong it is."""
        return self.power

    @cached_property
    def parts(self) -> list[str]:
        """What it is made of."""
        return ["piston"]

    def start(self, key: str, *, twice: bool = False) -> str:
        """Start it."""
        return f"{key}{self.power}{twice}"


class Car:
    """A whole."""

    def __init__(self) -> None:
        self._engine = Engine()

    force = property_of("_engine", Engine.force)
    parts = property_of("_engine", Engine.parts)
    start = method_of("_engine", Engine.start)


def test_members_are_those_of_the_part() -> None:
    car = Car()
    assert (car.force, car.start("k", twice=True)) == (3, "k3True")
    assert car.parts is car.parts


def test_they_have_the_signature_and_the_docstring_of_the_part() -> None:
    assert inspect.signature(Car.start) == inspect.signature(Engine.start)
    assert [inspect.getdoc(getattr(Car, name)) for name in ("force", "parts", "start")] == [
        "How strong it is.",
        "What it is made of.",
        "Start it.",
    ]


def test_a_property_of_a_part_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        Car().force = 4


@pytest.mark.parametrize("kind", [tfprof.Profile, tfprof.ProfileDiff, tfprof.Scaling])
def test_what_a_user_holds_is_composed(kind: type) -> None:
    assert kind.__bases__ == (object,)


@pytest.mark.parametrize("name", [*views.Dashboard.class_trait_names(is_panel=True), "scope_icicle", "dashboard"])
def test_a_method_that_gives_a_widget_tells_so(name: str) -> None:
    method = getattr(tfprof.Profile, name)
    kind = "".join(map(str.capitalize, name.split("_")))
    assert (method.__name__, method.__qualname__) == (name, f"Widgets.{name}")
    assert next(iter(inspect.signature(method).parameters)) == "self"
    assert get_type_hints(method, localns=KINDS)["return"] is KINDS[kind]
    assert "." in (inspect.getdoc(method) or "")


def test_the_method_that_gives_the_widget_of_a_comparison_tells_so() -> None:
    assert get_type_hints(tfprof.ProfileDiff.dashboard, localns=vars(diff_panel))["return"] is diff_panel.DiffPanel
