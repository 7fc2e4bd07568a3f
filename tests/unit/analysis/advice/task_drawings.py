"""Short drawings of steps that several tasks or devices share, as StepStats of TensorFlow's first profiler -> their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import read_run_metadata, step_message

STEP_US = 1000
N_STEPS = 5
WORKER, SERVER = "/job:worker/replica:0/task:{}", "/job:ps/replica:0/task:{}"
CPU, GPU = "/device:CPU:0", "/device:GPU:{}/stream:all"
Part = tuple[str, str, float, float]
"""Name of the op, its type, start in the step and duration, in us; of a received tensor the name tells whence it came."""


def step_stats_run(devices: Mapping[str, Sequence[Part]], *, n_steps: int = N_STEPS) -> Analysis:
    """Steps of `STEP_US`, each with the same parts on each device."""
    trace, graph = read_run_metadata({i: _stats(devices, i) for i in range(n_steps)})
    return Analysis(trace, stored_graph=graph)


def _stats(devices: Mapping[str, Sequence[Part]], step: int) -> bytes:
    message = step_message("StepStats")()
    for device, parts in devices.items():
        stats = message.dev_stats.add(device=device.encode())
        for name, kind, start, us in parts:
            is_received = kind == "RecvTensor"
            label = f"[4B] edge_1_weights from {name} to {device}" if is_received else f"{name} = {kind}()"
            begin = 1_600_000_000_000_000 + STEP_US * step + round(start)
            stats.node_stats.add(
                node_name=("RecvTensor" if is_received else name).encode(),
                all_start_micros=begin,
                op_end_rel_micros=round(us),
                all_end_rel_micros=round(us),
                timeline_label=label.encode(),
            )
    return message.SerializeToString()


def worker_and_servers(*, wait_us: float = 30, server_us: Sequence[float] = (100, 100)) -> Analysis:
    """A worker that waits for parameters and then computes, and servers that update them; the step is full."""
    sender = SERVER.format(0) + CPU
    worker: list[Part] = [
        (sender, "RecvTensor", 0, wait_us),
        ("net/dense/MatMul", "MatMul", wait_us, STEP_US - 10 - wait_us),
    ]
    return step_stats_run(
        {
            WORKER.format(0) + CPU: worker,
            **{
                SERVER.format(i) + CPU: [
                    (f"var_{i}/ApplyAdam", "ApplyAdam", 0, us),
                    (f"var_{i}/read", "Identity", 985, 5),
                ]
                for i, us in enumerate(server_us)
            },
        }
    )
