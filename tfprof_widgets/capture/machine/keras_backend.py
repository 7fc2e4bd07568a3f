"""The running process -> which backend its Keras runs on, and what else may compute in it beside TensorFlow."""

from __future__ import annotations

import sys

from ...trace.unrecorded import FRAMEWORKS, of_keras


def keras_backend() -> str:
    """Keras' own name of its backend, such as `jax`; "" where Keras is not imported, or does not tell."""
    tell = getattr(getattr(sys.modules.get("keras"), "backend", None), "backend", None)
    try:
        told = tell() if callable(tell) else ""
    except Exception:  # a Keras that is only half imported
        return ""
    return told if isinstance(told, str) else ""


def unrecorded_by(model: object) -> str:
    """What computes a model, such as `Keras on JAX`, where TensorFlow's profiler records nothing of it; else ""."""
    model_class = getattr(sys.modules.get("keras"), "Model", None)
    is_of_keras = isinstance(model_class, type) and issubclass(type(model), model_class)  # not of `tf_keras`
    return of_keras(keras_backend()) if is_of_keras else ""


def may_compute() -> str:
    """What may have computed here beside TensorFlow: JAX where it has begun to, PyTorch where it is imported; else ""."""
    if _jax_has_begun():
        return FRAMEWORKS["jax"]
    return FRAMEWORKS["torch"] if "torch" in sys.modules else ""


def _jax_has_begun() -> bool:
    """Whether JAX has looked for its devices, as it does before its first op: TensorFlow may import it and use nothing of it."""
    if "jax" not in sys.modules:
        return False
    has_begun = getattr(sys.modules.get("jax._src.xla_bridge"), "backends_are_initialized", None)
    try:
        return bool(has_begun()) if callable(has_begun) else True
    except Exception:  # a private name, which may mean something else some day
        return True
