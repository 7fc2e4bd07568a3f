"""ProfileCallback, WatchCallback and ProfilerHook are classes: of Keras, of TensorFlow and of this package at once."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import tfprof_widgets as tfprof
from tests.unit.capture.scenario import run_scenario

CLASSES = (tfprof.ProfileCallback, tfprof.WatchCallback, tfprof.ProfilerHook)


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    return run_scenario("""
        import copy
        import tfprof_widgets as tfprof

        class Mine(tfprof.ProfileCallback):
            def __init__(self, word, **options):
                super().__init__(**options)
                self.word = word

        x, y = arrays(6)
        trained = model()
        kinds = {"profile": tfprof.ProfileCallback, "watch": tfprof.WatchCallback}
        bases = {"profile": keras.callbacks.Callback, "watch": tf.keras.callbacks.Callback}
        for name, kind in kinds.items():
            made = kind(every=2)
            out[name] = [isinstance(made, kind), isinstance(made, bases[name]), type(made).__name__, type(made) is type(kind())]
        hook = tfprof.ProfilerHook(steps=[3])
        out["hook"] = [isinstance(hook, tfprof.ProfilerHook), isinstance(hook, tf.compat.v1.train.SessionRunHook),
                       type(hook).__name__, type(hook) is type(tfprof.ProfilerHook())]

        mine = Mine("hello", steps=[1, 2])
        trained.fit(x, y, callbacks=[mine], **FIT)
        out["mine"] = [isinstance(mine, Mine), isinstance(mine, tfprof.ProfileCallback), mine.word,
                       isinstance(mine, keras.callbacks.Callback), mine.profile.steps["name"].tolist()]
        for copied in (copy.copy(tfprof.ProfileCallback(steps=[4])), copy.deepcopy(tfprof.ProfileCallback(steps=[4]))):
            trained.fit(x, y, callbacks=[copied], **FIT)
            is_one = isinstance(copied, tfprof.ProfileCallback)
            out.setdefault("copies", []).append([is_one, copied.profile.steps["name"].tolist()])
        out["own"] = error_of(lambda: tfprof.WatchCallback(every=0))
    """)


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("name", "kind"), [("profile", "ProfileCallback"), ("watch", "WatchCallback"), ("hook", "ProfilerHook")]
)
def test_an_object_is_one_of_its_class_and_of_its_late_base(run: dict[str, Any], name: str, kind: str) -> None:
    assert run[name] == [True, True, kind, True]


@pytest.mark.tensorflow
def test_a_class_of_the_users_own_can_be_derived(run: dict[str, Any]) -> None:
    assert run["mine"] == [True, True, "hello", True, ["train 1", "train 2"]]


@pytest.mark.tensorflow
def test_a_copy_captures_as_the_callback_does(run: dict[str, Any]) -> None:
    assert run["copies"] == [[True, ["train 4"]]] * 2


@pytest.mark.tensorflow
def test_an_option_that_means_nothing_is_refused_when_the_callback_is_made(run: dict[str, Any]) -> None:
    assert run["own"][0] == "ValueError"


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_tells_its_arguments_without_tensorflow(kind: type) -> None:
    assert inspect.isclass(kind)
    assert all(parameter.kind != parameter.VAR_KEYWORD for parameter in inspect.signature(kind).parameters.values())
