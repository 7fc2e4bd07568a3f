"""Small drawn captures in which everything that the browser adds up occurs: what `tests/make_vectors.py` computes with."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from tests.builders import Event, Plane, event, line, plane, session, space
from tests.hlo_drawings import metadata_plane
from tests.unit.analysis.input.iterator_drawings import prefetched
from tests.unit.analysis.memory.test_memory import give, take
from tests.unit.views.test_sent_tables import PROGRAM, compiled, kernel
from tfprof_widgets.trace import SourceMap, empty_source_map

N_STEPS = 8
PERIOD_US = 110.0
DENSE, GRADIENT, ADAM = "net/dense/MatMul", "gradient_tape/net/dense/MatMul/MatMul", "Adam/update/ResourceApplyAdam"


def training(host: str = "", *, slowness: float = 1.0) -> bytes:
    """A host that reads, multiplies and updates in steps of growing length, leaks 64 bytes a step, and has a GPU."""
    main: list[Event] = []
    ahead: list[Event] = []
    kernels: list[Event] = []
    for step in range(N_STEPS):
        at, heap = 30 + PERIOD_US * step, 1000 + 64 * step
        consumer, producer = prefetched(at + 2, 8 + step % 3, at - 20, 14, step)
        work = slowness * (20 + step)
        main += [
            event("train", at, 70 + work, _r=1, step_num=step),
            event("IteratorGetNext:IteratorGetNext", at + 1, 12),
            *consumer,
            event(f"{DENSE}:MatMul", at + 15, work),
            event("net/dense/Mul:Mul", at + 20, work / 2),
            take(at + 18, 1, 500, heap + 500, tf_op=DENSE),
            event(f"{GRADIENT}:MatMul", at + 20 + work, 20.5),
            give(at + 25 + work, 1, 500, heap),
            take(at + 30 + work, 1000 + step, 64, heap + 64, tf_op="lost"),
            event(f"{ADAM}:ResourceApplyAdam", at + 45 + work, 4),
        ]
        ahead += producer
        kernels += [
            kernel("volta_sgemm", at + 20, 5 + step, tf_op=f"{DENSE}:MatMul"),
            kernel("splitK", at + 40, 3, tf_op=f"{DENSE}:MatMul"),
            kernel("adam", at + 60, 2.5, tf_op=f"{ADAM}:ResourceApplyAdam"),
        ]
    return space(
        session(),
        plane("/host:CPU", line("main", *_nested(main)), line("prefetch", *ahead)),
        _gpu(kernels),
        hostnames=[host] if host else [],
    )


def program() -> bytes:
    """A GPU that runs a compiled program, whose ops stand for several framework ops each, and an ordinary op."""
    runs = [kernel("volta_sgemm", 5, 7, tf_op=f"{DENSE}:MatMul")]
    for at in (20, 40, 60):
        runs += [compiled("c", at, 4 + at / 20), compiled("t", at + 10, 1)]
    host = plane("/host:CPU", line("main", event(f"{DENSE}:MatMul", 0, 2)))
    return space(session(), metadata_plane({2**63 - 5: PROGRAM}), host, _gpu(runs))


def code_of_training() -> SourceMap:
    """The multiplication and its gradient come from one line of a file, the other op of the layer from the next."""
    ops = [(DENSE, "MatMul", 0), ("net/dense/Mul", "Mul", 1)]
    frames = {"parent": [-1, -1], "file": [0, 0], "line": [12, 13], "function": ["call", "call"]}
    return replace(
        empty_source_map(),
        ops=pd.DataFrame([(0, *op) for op in ops], columns=["graph", "op", "type", "frame"]),
        frames=pd.DataFrame(frames),
        files=pd.DataFrame({"file": ["/me/net.py"], "title": ["net.py"], "is_user": [True], "text": [""]}),
        functions=pd.DataFrame({"graph": ["step"], "file": [0], "line": [10], "function": ["call"]}),
    )


class Waiting(NamedTuple):
    """Work of hosts that wait in each step for the last of them, and then exchange something; by step and host."""

    name: str
    input_ms: list[list[float]]
    host_compute_ms: list[list[float]]
    transfer_ms: float = 1.0

    def times(self) -> tuple[np.ndarray, np.ndarray]:
        """Own time and step time, each of shape (steps, hosts)."""
        own = np.array(self.input_ms) + np.array(self.host_compute_ms)
        return own, np.repeat(own.max(axis=1, keepdims=True) + self.transfer_ms, own.shape[1], axis=1)


STRAGGLERS = (
    Waiting(
        "one of four reads longer",
        [[0.4, 4.5, 0.4, 0.4], [0.4, 4.5, 0.4, 0.4], [0.4, 4.5, 0.4, 0.4]],
        [[2, 2, 2, 2], [2, 2, 2, 2], [2, 2, 2, 2]],
    ),
    Waiting(
        "of two hosts one computes longer",
        [[0.4, 0.4], [0.4, 0.4], [0.4, 0.4], [0.4, 0.4]],
        [[2, 3], [2, 3.2], [2, 2.8], [2, 3]],
    ),
    Waiting(
        "two of six are late by different work",
        [[0.4, 4.4, 0.4, 0.4, 0.4, 0.4], [0.4, 4.4, 0.4, 0.4, 0.4, 0.4], [0.4, 4.4, 0.4, 0.4, 0.4, 0.4]],
        [[2, 2, 2, 2, 4, 2.1], [2, 2, 2, 2, 4, 2.1], [2, 2, 2, 2, 4, 2.1]],
    ),
    Waiting(
        "even hosts",
        [[0.4, 0.41, 0.4], [0.4, 0.41, 0.4], [0.4, 0.41, 0.4], [0.4, 0.41, 0.4], [0.4, 0.41, 0.4]],
        [[2, 2, 2.02], [2, 2, 2.02], [2, 2, 2.02], [2, 2, 2.02], [2, 2, 2.02]],
    ),
    Waiting("two steps are too few", [[0.4, 4.5, 0.4, 0.4], [0.4, 4.5, 0.4, 0.4]], [[2, 2, 2, 2], [2, 2, 2, 2]]),
)
KERNELS = (
    "volta_sgemm_128x64",
    "void at::native::reduce<float>(int)",
    "void (anonymous namespace)::scale<float, (Mode)1>(float*, int)",
    "static void tensorflow::functor::FillPhiloxRandomKernel<Uniform<float> >(unsigned long)",
    "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<Eigen::Tensor<"
    "Eigen::half, 1, 1, long>, 16>, Eigen::TensorConversionOp<Eigen::half, Eigen::TensorMap<Eigen::Tensor<float const, 1, 1, "
    "long>, 16> const> const> const, Eigen::GpuDevice>, long>(long)",
    "void EigenMetaKernel<TensorAssignOp<TensorMap<Tensor<half, 2, 1, int>>, TensorCwiseBinaryOp<scalar_sum_op<half>>>>(int)",
    "void EigenMetaKernel<TensorEvaluator<int>>(int)",
    "void tensorflow::(anonymous namespace)::SplitOpKernel<float>(float const*, int, GpuDeviceArrayStruct<float*, 8>)",
    "void tensorflow::(anonymous namespace)::concat_fixed_kernel<bool, int>(tensorflow::GpuDeviceArrayStruct<bool const*, 8>)",
    "void tensorflow::functor::RowReduceKernel<cub::TransformInputIterator<float, tensorflow::(anonymous namespace)::"
    "SubtractAndExpFunctor<float, float>, long>, float*, cuda::std::__4::plus<void> >(float*)",
    "void LSTM_elementWise_bp1<float, float, float>(int, int, float*, float*)",
    "",
)
"""Signatures as the GPU tracer tells them."""


def coded_tables() -> dict[str, dict[str, tuple[np.ndarray, str]]]:
    """A table for each way to code a column, whose name is the key; what they hold is what makes that the best way."""
    rng = np.random.default_rng(0)
    length, step, few = rng.integers(1, 10**12, 80), rng.integers(0, 7, 80), rng.integers(-3, 4, 80)
    gaps = np.cumsum(length + step * 1000) + 2**52
    return {
        "neighbours": {"duration_ps": (length, "f8"), "start_ps": (gaps - length, "f8")},
        "counted": {"position": (np.arange(10**6, 10**6 + 80), "u4"), "time_ps": (np.arange(80) * 1000 + 2**52, "f8")},
        "few": {"line": (few, "i4"), "is_free": (step % 2, "u1"), "n": (step + 65000, "u2")},
        "same": {"duration_ps": (length, "f8"), "self_ps": (length - few * 2**40, "f8")},
        "decimals": {"ratio": (few / 10, "f8"), "value": (np.cumsum(step) / 1000, "f8")},
        "fractions": {"value": (rng.integers(0, 2**10, 80) / 2**12, "f8"), "bits": (2**60 + length, "u8")},
    }


def _gpu(kernels: list[Event]) -> Plane:
    return plane("/device:GPU:0", line("Stream #1(Compute)", *kernels), device_vendor="Nvidia")


def _nested(events: list[Event]) -> list[Event]:
    """In the order in which a thread records them: what is around comes before what is inside."""
    return sorted(events, key=lambda one: (one.start_ps, -one.duration_ps))
