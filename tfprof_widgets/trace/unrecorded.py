"""What computed the steps of a capture and is not in it -> what is said instead of a verdict, and what records it.

A name is `Keras on JAX` where Keras ran on another backend, else `JAX`: of an own loop in which no model of TensorFlow ran.
"""

from __future__ import annotations

FRAMEWORKS = {"jax": "JAX", "torch": "PyTorch", "numpy": "NumPy", "openvino": "OpenVINO"}
"""Backends of Keras, and modules: what they are called."""
_OF_KERAS, _ANOTHER = "Keras on ", "another backend"
_RECORDED_BY = {
    "JAX": (
        "Record it with `jax.profiler.start_trace(dir)` and `jax.profiler.stop_trace()`, and open it with `tfprof.load(dir)`."
    ),
    "PyTorch": "Record it with `torch.profiler`; `tfprof.load` opens the Chrome trace that it exports, as a timeline only.",
}


def framework_of_keras(backend: str) -> str:
    """What a backend of Keras is called; "" for TensorFlow and where none is known."""
    return "" if backend in ("", "tensorflow") else FRAMEWORKS.get(backend, _ANOTHER)


def of_keras(backend: str) -> str:
    """The name of Keras on a backend; "" likewise."""
    framework = framework_of_keras(backend)
    return f"{_OF_KERAS}{framework}" if framework else ""


def known_name(text: str) -> str:
    """The same where it is such a name; "" for any other text of a file."""
    return text if text.removeprefix(_OF_KERAS) in (*FRAMEWORKS.values(), _ANOTHER) else ""


def unrecorded_verdict(name: str) -> str:
    """That nothing is known of the steps, and why."""
    what = name.removeprefix(_OF_KERAS)
    cause = f"Keras ran on {what}" if what != name else f"No TensorFlow model ran in the steps; maybe one of {what} did"
    return f"{cause}, of which TensorFlow's profiler records nothing, so how long steps take and what limits them is unknown."


def unrecorded_remedy(name: str) -> str:
    """What records it; "" where nothing is known that does."""
    return _RECORDED_BY.get(name.removeprefix(_OF_KERAS), "")


def unrecorded_notice(name: str) -> str:
    """Both in one notice."""
    return f"{unrecorded_verdict(name)} {unrecorded_remedy(name)}".rstrip()
