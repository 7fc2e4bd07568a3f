"""Keras layers: the line that made each, and what a capture records of live ones."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tfprof_widgets.capture import (
    UNKNOWN,
    LayerFacts,
    LayerRecord,
    Wanted,
    calls_of,
    creation_lines,
    keras_layers,
    simple,
)
from tfprof_widgets.capture import frames as module
from tfprof_widgets.read import open_traces


def layer(name: str, class_name: str = "Dense", **values: Any) -> LayerFacts:
    return LayerFacts(name, class_name, ("units", "activation", "use_bias"), {"use_bias": True}, values)


def lines(text: str, *layers: LayerFacts, **more: str) -> dict[str, int]:
    found = creation_lines(layers, {"a.py": text, **more})
    return {name: line for name, (_, line) in found.items()}


def test_constants_tell_calls_apart() -> None:
    text = "a = Dense(10)\nb = L.Dense(20)\nc = keras.layers.Dense(units=30)\n"
    made = [layer("dense", units=20), layer("dense_1", units=30), layer("dense_2", units=10)]
    assert lines(text, *made) == {"dense": 2, "dense_1": 3, "dense_2": 1}


def test_a_name_tells_most() -> None:
    text = "a = Dense(10)\nb = Dense(10, name='b')\nc = Dense(10, name=f'x{i}')\n"
    assert lines(text, layer("b", units=10), layer("dense", units=10)) == {"b": 2, "dense": 1}
    assert lines(text, layer("x3", units=10)) == {"x3": 3}


def test_what_a_call_leaves_out_has_its_default() -> None:
    text = "a = Dense(n, use_bias=False)\nb = Dense(n)\n"
    assert lines(text, layer("dense", use_bias=True), layer("dense_1", use_bias=False)) == {"dense": 2, "dense_1": 1}


def test_layers_of_a_loop_are_of_one_line() -> None:
    assert lines("for n in (1, 2):\n    Dense(n)\n", layer("dense", units=1), layer("dense_1", units=2)) == {
        "dense": 2,
        "dense_1": 2,
    }


def test_equal_calls_are_told_apart_by_order() -> None:
    text = "[\nDense(8),\nDense(8)]\n"
    assert lines(text, layer("dense_1", units=8), layer("dense", units=8)) == {"dense": 2, "dense_1": 3}
    again = [layer(f"dense_{i}", units=8) for i in range(4, 8)]
    assert lines(text, *again) == {"dense_4": 2, "dense_5": 3, "dense_6": 2, "dense_7": 3}


def test_the_newest_text_is_the_newest_layers() -> None:
    found = creation_lines([layer("dense_2")], {"old": "Dense(n)\n", "new": "\nDense(n)\n"})
    assert found == {"dense_2": ("new", 2)}


def test_of_equal_calls_those_beside_calls_that_made_the_same_model_are_taken() -> None:
    text = "def one():\n  Dense(8)\n  Dense(10)\ndef two():\n  Dense(16)\n  Dense(10)\ndef three():\n  Dense(10)\n"
    made = [layer("dense", units=8), layer("dense_1", units=10)]
    found = creation_lines(made, {"a": text}, model_of={"dense": "m", "dense_1": "m"})
    assert found == {"dense": ("a", 2), "dense_1": ("a", 3)}
    made = [layer("dense_2", units=16), layer("dense_3", units=10)]
    texts = {"a": text, "b": "Dense(10)\n"}
    found = creation_lines(made, texts, model_of={"dense_2": "m", "dense_3": "m"})
    assert found == {"dense_2": ("a", 5), "dense_3": ("a", 6)}


def test_of_more_calls_than_layers_the_nearest_are_taken() -> None:
    text = "Dense(10)\n\nDense(8)\nDense(10)\nDense(10)\nDense(9)\n\n\n\nDense(10)\n"
    made = [layer("dense", units=8), layer("dense_1", units=10), layer("dense_2", units=10), layer("dense_3", units=9)]
    model_of = dict.fromkeys(("dense", "dense_1", "dense_2", "dense_3"), "m")
    found = creation_lines(made, {"a": text}, model_of=model_of)
    assert {name: line for name, (_, line) in found.items()} == {"dense": 3, "dense_1": 4, "dense_2": 5, "dense_3": 6}


def test_the_only_function_with_a_call_for_each_layer_made_a_model() -> None:
    text = "def a():\n  Dense(8)\ndef b():\n  Dense(8)\n  Dense(1)\ndef c():\n  Dense(1)\n"
    made = [layer("dense", units=8), layer("dense_1", units=8), layer("dense_2", units=1)]
    model_of = {"dense": "a", "dense_1": "b", "dense_2": "b"}
    found = creation_lines(made, {"a": text}, model_of=model_of)
    assert {name: line for name, (_, line) in found.items()} == {"dense_1": 4, "dense_2": 5}


def test_layers_of_one_model_are_put_together_even_where_none_is_sure() -> None:
    text = "Dense(8)\ndef b():\n  Dense(8)\n  Dense(1)\ndef c():\n  Dense(1)\n"
    model_of = {"dense": "m", "dense_1": "m"}
    made = [layer("dense", units=8), layer("dense_1", units=1)]
    found = creation_lines(made, {"a": text}, model_of=model_of)
    assert {name: line for name, (_, line) in found.items()} == {"dense": 3, "dense_1": 4}


def test_the_call_in_a_loop_made_what_the_others_did_not() -> None:
    text = "[\nDense(8),\n*[Dense(8) for _ in range(3)],\nDense(8)]\n"
    made = [layer(name, units=8) for name in ("dense", "dense_1", "dense_2", "dense_3", "dense_4")]
    assert list(lines(text, *made).values()) == [4, 3, 3, 3, 2]
    assert lines(text, *made)["dense"] == 2


def test_a_function_in_a_loop_is_not_the_loop() -> None:
    (call,) = [call for _, call in calls_of("for i in x:\n  def f():\n    Dense(8)\n", "a", Wanted({"Dense"}, set()))]
    assert not call.is_repeated
    assert call.function_line == 2


def test_values_are_read_without_running_code_of_theirs() -> None:
    class Hostile:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    class Number(int):
        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = int.__hash__

    assert simple(Hostile()) is UNKNOWN
    assert simple(Number(3)) is UNKNOWN
    assert simple((1, Hostile())) is UNKNOWN
    assert simple(list(range(1000))) is UNKNOWN
    assert simple([1, "a"]) == (1, "a")
    assert simple(True) is True


def test_a_class_may_have_another_name() -> None:
    assert lines("from keras.layers import Dense as D\nx = D(1)\n", layer("dense", units=1)) == {"dense": 2}


def test_layers_that_no_text_makes_have_no_line() -> None:
    assert lines("Dense(10)\n", layer("dense", units=20), layer("conv2d", "Conv2D")) == {}
    assert lines("this is no Python: Dense(\n", layer("dense")) == {}


def test_arguments_that_are_not_written_out_fit_anything() -> None:
    assert lines("Dense(*args, **kwargs)\n", layer("any", units=3)) == {"any": 1}


def test_a_model_of_a_library_is_at_the_line_that_asked_for_it() -> None:
    text = "x = 1\nbase = keras.applications.MobileNetV2(weights=None)\nnet = keras.Sequential([base])\n"
    names = ["mobilenetv2_1.00_224", "sequential_3", "other"]
    found = creation_lines([], {"a.py": text}, models=names)
    assert found == {"mobilenetv2_1.00_224": ("a.py", 2), "sequential_3": ("a.py", 3)}


def test_layers_that_several_functions_may_have_made_have_no_line() -> None:
    """One made them all; a guess would charge those that never ran."""
    text = """def ran():
    return Sequential([Dense(n, activation="relu") for n in sizes])
def never_ran():
    first = Dense(n, activation="relu")
    return Dense(n, activation="relu")(first)
class Neither(Model):
    def __init__(self):
        self.dense = Dense(n, activation="relu")
"""
    made = [layer("dense" if i == 0 else f"dense_{i}", units=8 * i, activation="relu") for i in range(6)]
    assert creation_lines(made, {"a": text}, model_of={one.name: "m" for one in made}) == {}
    assert creation_lines([], {"a": "def f():\n  ResNet50()\ndef g():\n  ResNet50()\n"}, models=["resnet50"]) == {}


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
