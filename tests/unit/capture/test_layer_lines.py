"""The line that made a Keras layer, found in the user's texts."""

from __future__ import annotations

import time
from typing import Any

from tfprof_widgets.capture.layer_lines import LayerFacts, creation_lines


def layer(name: str, class_name: str = "Dense", **values: Any) -> LayerFacts:
    return LayerFacts(name, class_name, ("units", "activation", "use_bias"), {"use_bias": True}, values)


def lines(text: str, *layers: LayerFacts, **more: str) -> dict[str, int]:
    found = creation_lines(layers, {"a.py": text, **more}, deadline_s=float("inf"))
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
    found = creation_lines([layer("dense_2")], {"old": "Dense(n)\n", "new": "\nDense(n)\n"}, deadline_s=float("inf"))
    assert found == {"dense_2": ("new", 2)}


def test_a_class_may_have_another_name() -> None:
    assert lines("from keras.layers import Dense as D\nx = D(1)\n", layer("dense", units=1)) == {"dense": 2}


def test_layers_that_no_text_makes_have_no_line() -> None:
    assert lines("Dense(10)\n", layer("dense", units=20), layer("conv2d", "Conv2D")) == {}
    assert lines("this is no Python: Dense(\n", layer("dense")) == {}


def test_arguments_that_are_not_written_out_fit_anything() -> None:
    assert lines("Dense(*args, **kwargs)\n", layer("any", units=3)) == {"any": 1}


def test_no_text_is_read_after_the_deadline() -> None:
    assert creation_lines([layer("dense")], {"a.py": "Dense(1)\n"}, deadline_s=time.thread_time() - 1) == {}


def test_a_model_of_a_library_is_at_the_line_that_asked_for_it() -> None:
    text = "x = 1\nbase = keras.applications.MobileNetV2(weights=None)\nnet = keras.Sequential([base])\n"
    names = ["mobilenetv2_1.00_224", "sequential_3", "other"]
    found = creation_lines([], {"a.py": text}, models=names, deadline_s=float("inf"))
    assert found == {"mobilenetv2_1.00_224": ("a.py", 2), "sequential_3": ("a.py", 3)}
