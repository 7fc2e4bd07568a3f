"""Members that a whole has of its parts: they read as if they were written there."""

from __future__ import annotations

import inspect
from functools import cached_property

import pytest

import tfprof_widgets as tfprof
from tfprof_widgets.profiles.forwarding import method_of, property_of


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
