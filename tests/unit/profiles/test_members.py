"""The members of what a user holds tell their types."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import pytest

import tfprof_widgets as tfprof
from tfprof_widgets.analysis import options
from tfprof_widgets.show import outputs, widgets

KINDS = vars(widgets) | {"Timeline": widgets.Timeline, "Structure": options.TreeView}


@pytest.mark.parametrize("kind", [tfprof.Profile, tfprof.ProfileDiff, tfprof.Scaling])
def test_what_a_user_holds_is_composed(kind: type) -> None:
    assert kind.__bases__ == (object,)


@pytest.mark.parametrize("name", [*widgets.Dashboard.class_trait_names(is_panel=True), "dashboard"])
def test_a_method_that_gives_a_widget_tells_so(name: str) -> None:
    method = getattr(tfprof.Profile, name)
    kind = "".join(map(str.capitalize, name.split("_")))
    assert (method.__name__, method.__qualname__) == (name, f"Profile.{name}")
    assert next(iter(inspect.signature(method).parameters)) == "self"
    assert get_type_hints(method, localns=KINDS)["return"] is KINDS[kind]
    assert "." in (inspect.getdoc(method) or "")


def test_the_method_that_gives_the_widget_of_a_comparison_tells_so() -> None:
    assert get_type_hints(tfprof.ProfileDiff.dashboard, localns=vars(outputs))["return"] is outputs.DiffPanel
