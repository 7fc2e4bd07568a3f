"""A Keras that marks its steps itself does not while a capture does, and does again afterwards."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tfprof_widgets.capture import KerasPatch, OwnMarksPatch, without_own_marks

MODULE = "engine_of_keras_2"
PROGRAM = """
class Model:
    def fit(self):
        with tf.profiler.experimental.Trace("train", step_num=0, _r=1):
            return tf.add(1, 2)
    evaluate = predict = fit
"""


@pytest.fixture
def marks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the training of a module has marked; its `Model` is that of an imported `keras`."""
    found: list[str] = []

    class Trace:
        def __init__(self, name: str, **_: Any) -> None:
            found.append(name)

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            pass

    module = ModuleType(MODULE)
    profiler = SimpleNamespace(experimental=SimpleNamespace(Trace=Trace))
    vars(module)["tf"] = SimpleNamespace(profiler=profiler, add=lambda a, b: a + b)
    exec(PROGRAM, vars(module))
    monkeypatch.setitem(sys.modules, MODULE, module)
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(Model=module.Model))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace())  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("kind", [KerasPatch, OwnMarksPatch])
def test_steps_are_not_marked_twice_while_the_patch_is_in(marks: list[str], kind: type[OwnMarksPatch]) -> None:
    model = sys.modules["keras"].Model()
    patch = kind()
    patch.install()
    assert model.fit() == 3
    assert marks == []
    patch.remove()
    assert model.fit() == 3
    assert marks == ["train"]


def test_a_module_without_tensorflow_stays_as_it_is() -> None:
    module = ModuleType("of_keras_3")
    before = dict(vars(module))
    assert without_own_marks(module) is None
    assert vars(module) == before
