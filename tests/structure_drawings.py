"""Invented graphs of ops -> an `OpGraph`, and a profile of it, for tests of the views by structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import Opened, trace_of
from tfprof_widgets.trace import OpGraph, make_op_graph

GPU, CPU = "/job:localhost/replica:0/task:0/device:GPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"
KINDS = ("VariableV2", "Identity", "MatMul", "BiasAdd", "Relu", "Mul", "Sum", "Cast")
"""The ops of a block, in the order in which data flows."""
N_STEPS = 3


def drawn_graph(n_layers: int, n_blocks: int = 1, *, model: str = "model", with_code: bool = True) -> OpGraph:
    """Layers of blocks of 8 ops each, one feeding the next; later layers take longer, every third block runs on the CPU.

    Args:
        n_layers: `model/layer_0` and so on.
        n_blocks: in each layer, `model/layer_0/block_0` and so on.
        model: the outermost scope.
        with_code: whether each layer has a line of code.
    """
    n_ops = n_layers * n_blocks * len(KINDS)
    op = np.arange(n_ops)
    kind, block = op % len(KINDS), op // len(KINDS)
    layer = block // n_blocks
    names = [f"{model}/layer_{a}/block_{b % n_blocks}/{KINDS[k]}" for a, b, k in zip(layer, block, kind, strict=True)]
    types = [KINDS[k] for k in kind]
    duration_us = np.where(kind == 2, 400 + 40 * layer, 3 + kind).astype(float)
    is_variable = kind == 0
    devices = [CPU if b % 3 == 2 else GPU for b in block]
    ops = {
        "name": names,
        "type": types,
        "op_types": [(one, "_trainable_variables") if k == 0 else (one,) for one, k in zip(types, kind, strict=True)],
        "device": devices,
        "host_device": [CPU] * n_ops,
        "float_ops": np.where(kind == 2, 2_000_000, 0),
        "shape": [(64, 32) if flag else None for flag in is_variable],
        "frame": layer + 2 if with_code else np.full(n_ops, -1),
    }
    return make_op_graph(
        {
            "ops": ops,
            "inputs": _inputs(op, kind),
            "frames": _frames(n_layers, model) if with_code else {},
            "shapes": {"op": op, "is_output": [True] * n_ops, "slot": op * 0, "shape": [(128, 32)] * n_ops},
            **_runs(op, duration_us, np.array([device == GPU for device in devices]), devices),
        }
    )


def _inputs(op: np.ndarray, kind: np.ndarray) -> dict[str, Any]:
    feeds = op[1:][kind[1:] != 0]
    # A variable is read by its own block; what came before it feeds the product.
    products = op[(kind == 2) & (op >= len(KINDS))]
    return {
        "op": np.concatenate([feeds, products]),
        "slot": np.concatenate([feeds * 0, products * 0 + 1]),
        "source": np.concatenate([feeds - 1, products - 3]),
        "source_output": np.zeros(len(feeds) + len(products), int),
    }


def _frames(n_layers: int, model: str) -> dict[str, Any]:
    """`train.py` calls `build`, which makes each layer on a line of its own."""
    n = n_layers + 2
    return {
        "parent": [-1, 0, *[1] * n_layers],
        "file": ["/home/me/train.py", "/home/me/model.py", *["/home/me/model.py"] * n_layers],
        "line": [40, 8, *range(10, 10 + n_layers)],
        "function": ["<module>", "build", *["layers"] * n_layers],
        "function_line": [1, 5, *[9] * n_layers],
        "text": ["train()", "net = layers(x)", *[f"x = {model}.dense_{k}(x)" for k in range(n_layers)]][:n],
    }


def _runs(op: np.ndarray, duration_us: np.ndarray, is_gpu: np.ndarray, devices: list[str]) -> dict[str, Any]:
    step = np.repeat(np.arange(N_STEPS), len(op))
    every = np.tile(op, N_STEPS)
    duration = np.tile(duration_us, N_STEPS)
    start = 1.0 + np.cumsum(duration) - duration + 10_000.0 * step
    size = np.where(np.tile(op % len(KINDS) == 2, N_STEPS), 1 << 20, 4096) * (1 + every // len(KINDS))
    zero = np.zeros(len(every), int)
    memory = dict.fromkeys(("time_us", "accelerator_temp_bytes", "host_temp_bytes"), zero)
    memory |= dict.fromkeys(("accelerator_persistent_bytes", "host_persistent_bytes", "in_use_bytes"), zero)
    ran = {"op": every, "step": step}
    return {
        "runs": {**ran, "n_runs": zero + 1, "start_us": start, "end_us": start + duration},
        "times": {
            **ran,
            "device": devices * N_STEPS,
            "is_accelerator": np.tile(is_gpu, N_STEPS),
            "start_us": start,
            "duration_us": duration,
        },
        "memory": {
            **ran,
            **memory,
            "requested_bytes": size,
            "peak_bytes": size,
            "residual_bytes": zero,
            "output_bytes": size // 2,
        },
    }


def profile_of(graph: OpGraph, title: str = "drawn") -> Profile:
    """A profile as of a file of TensorFlow's first profiler."""
    return Profile(lambda: Opened(trace_of(graph), (), op_graph=graph), title=title)
