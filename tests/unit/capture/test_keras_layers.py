"""Records of live Keras layers: of real models through a capture's sidecar, and of objects that misbehave."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tfprof_widgets.capture import LayerRecord, keras_layers
from tfprof_widgets.capture import frames as module
from tfprof_widgets.read import open_traces


class FakeLayer:
    def __init__(self, name: Any, *parts: Any) -> None:
        self.name = name
        self._layers = list(parts)


class FakeOptimizer:
    def __init__(self, name: str) -> None:
        self.name = name


def found() -> list[LayerRecord]:
    return keras_layers(gc.get_objects())


@pytest.fixture
def fake_keras(monkeypatch: pytest.MonkeyPatch) -> None:
    keras = SimpleNamespace(
        layers=SimpleNamespace(Layer=FakeLayer), optimizers=SimpleNamespace(Optimizer=FakeOptimizer)
    )
    monkeypatch.setitem(sys.modules, "keras", keras)


def test_without_keras_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    assert found() == []


@pytest.mark.usefixtures("fake_keras")
def test_layers_are_named_by_their_way_from_the_outermost() -> None:
    shared = FakeLayer("shared")
    model = FakeLayer("net", FakeLayer("block", shared), shared)
    optimizer = FakeOptimizer("my_adam")
    assert found() == [
        LayerRecord("", optimizer.name, "FakeOptimizer", ""),
        LayerRecord("net", model.name, "FakeLayer", "net"),
        LayerRecord("net/block", "block", "FakeLayer", "net"),
        LayerRecord("net/block/shared", "shared", "FakeLayer", "net"),
        LayerRecord("net/shared", "shared", "FakeLayer", "net"),
    ]


@pytest.mark.usefixtures("fake_keras")
def test_layers_that_hold_each_other_end() -> None:
    outer, inner, owner = FakeLayer("outer"), FakeLayer("inner"), FakeLayer("owner")
    owner._layers, outer._layers, inner._layers = [outer], [inner], [outer]
    assert [record.layer for record in found()] == ["owner", "owner/outer", "owner/outer/inner"]


@pytest.mark.usefixtures("fake_keras")
def test_more_layers_than_the_bound_are_said_to_be_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MAX_RECORDS", 50)
    layer = FakeLayer("leaf")
    for _ in range(40):  # 2**40 ways to the innermost
        layer = FakeLayer("node", layer, layer)
    with caplog.at_level(logging.WARNING):
        assert len(found()) == 50
    assert "only the first 50 layers" in caplog.text


@pytest.mark.usefixtures("fake_keras")
def test_a_layer_whose_constructor_has_not_run_costs_nothing_but_its_name() -> None:
    layer = FakeLayer.__new__(FakeLayer)
    assert found() == [LayerRecord("", "", type(layer).__name__, "")]


@pytest.mark.usefixtures("fake_keras")
def test_no_property_of_a_users_layer_is_run() -> None:
    class Hostile(FakeLayer):
        @property
        def _layers(self) -> list[Any]:  # type: ignore[override]
            raise RuntimeError("no")

        @_layers.setter
        def _layers(self, _: list[Any]) -> None: ...

    hostile = Hostile("hostile")
    assert found() == [LayerRecord("hostile", "hostile", "Hostile", "hostile")]
    assert hostile.name


@pytest.mark.usefixtures("fake_keras")
def test_a_keras_that_is_not_whole_costs_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = FakeLayer("alone")
    monkeypatch.delattr(sys.modules["keras"], "optimizers")
    assert found() == [LayerRecord("alone", layer.name, "FakeLayer", "alone")]
    monkeypatch.setattr(sys.modules["keras"], "layers", None)
    assert found() == []


@pytest.mark.tensorflow
def test_the_layers_of_a_real_model_are_in_the_sidecar(capture_of: Callable[[str], Path]) -> None:
    source_map = open_traces(capture_of("two_optimizers").parent).source_map
    assert source_map is not None
    rows = set(zip(source_map.layers["layer"], source_map.layers["class_name"], strict=True))
    assert {
        ("pair", "Pair"),
        ("pair/maker", "Sequential"),
        ("pair/maker/dense", "Dense"),
        ("pair/judge/dense_2", "Dense"),
    } <= rows
    optimizers = source_map.layers[source_map.layers["layer"] == ""]
    assert {"maker_sgd", "judge_sgd"} <= set(optimizers["name"])
