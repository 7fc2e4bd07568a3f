"""Drawn runs: steps of a made-up model whose ops take what a test says, with noise from a fixed seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import tfprof_widgets as tfprof
from tests.builders import Event, event, line, plane, session, space
from tfprof_widgets.analysis import Analysis, RunDiff
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Float64

LAYERS = ("conv2d", "conv2d_1", "dense", "dense_1", "dense_2")
MODEL: dict[str, float] = {
    f"model/{layer}/{op}": 100.0 + 40 * i + 15 * k
    for i, layer in enumerate(LAYERS)
    for k, op in enumerate(("MatMul", "BiasAdd", "Relu", "Cast"))
}
"""Microseconds of each op in a step."""


@dataclass(frozen=True)
class Run:
    """How to draw one."""

    ops: Mapping[str, float] = field(default_factory=lambda: MODEL)
    n_steps: int = 80
    seed: int = 0
    noise: float = 0.05
    """Standard deviation of an op's time, as a part of it, from step to step."""
    between: float = 0.02
    """The same between runs."""
    speed: float = 1.0
    """Every op takes so many times as long."""
    rare: Mapping[str, float] = field(default_factory=dict)
    """Ops that run in one step of ten."""
    input_us: float = 0.0
    """A tf.data pipeline that makes elements while the step waits, of which its last stage takes so long."""
    wait_us: float = 0.0
    """How long a step waits for a batch that is prepared beside it."""
    busy: range = range(0)
    """Steps in which other processes make ops take 1.6 times as long, and the step wait `busy_wait_us`."""
    busy_wait_us: float = 0.0
    gap_us: float = 0.0
    """What a callback takes at the end of each step: no op runs."""
    uneven: float = 0.0
    """Standard deviation of what the machine does to all ops of a step, as a part of it: neighbours alike, with bursts in which
    others take a core, a drift, and a level of its own for each run."""
    has_steps: bool = True
    kernels: Mapping[str, float] = field(default_factory=dict)

    def xspace(self) -> bytes:
        """The bytes of its trace."""
        rng = np.random.default_rng(self.seed)
        own = {name: us * self.speed * np.exp(self.between * rng.standard_normal()) for name, us in self.ops.items()}
        machine = self._machine()
        host: list[Event] = []
        stream: list[Event] = []
        at = 0.0
        for step in range(self.n_steps):
            slow = machine[step] * (1.6 if step in self.busy else 1.0)
            events: list[Event] = []
            now = at + 5
            work = dict(own) | ({name: us for name, us in self.rare.items() if step % 10 == 3})
            if self.input_us:
                taken = self.input_us * np.exp(self.noise * rng.standard_normal())
                events.append(event("Iterator::Root", now, taken + 2, id=1))
                events.append(event("Iterator::Root::Map", now + 1, taken, id=2, parent_id=1))
                now += taken + 4
            if self.wait_us:
                wait = self.busy_wait_us if step in self.busy else self.wait_us
                taken = wait * np.exp(self.noise * rng.standard_normal())
                events.append(event("IteratorGetNext:IteratorGetNext", now, taken))
                now += taken + 1
            for name, us in work.items():
                taken = us * slow * np.exp(self.noise * rng.standard_normal())
                events.append(event(f"{name}:{name.rpartition('/')[2].partition('_')[0]}", now, taken))
                now += taken + 1
            for name, us in self.kernels.items():
                taken = us * np.exp(self.noise * rng.standard_normal())
                details = "regs:32 grid:1,1,1 block:64,1,1"
                stream.append(event(name, now, taken, tf_op="model/dense/MatMul:MatMul", kernel_details=details))
                now += taken + 1
            now += self.gap_us
            if self.has_steps:
                host.append(event("train", at, now + 5 - at, _r=1, step_num=step))
            host += events
            at = now + 10
        planes = [plane("/host:CPU", line("main", *host))]
        if stream:
            planes.append(plane("/device:GPU:0", line("Stream #1", *stream, id=7), device_vendor="Nvidia"))
        return space(*planes, session(duration_us=at + 100))

    def _machine(self) -> Float64:
        """How many times as long ops take, step by step."""
        rng = np.random.default_rng([self.seed, 1])
        level, drift, now = self.uneven * rng.standard_normal(3)
        found = np.empty(self.n_steps)
        for step in range(self.n_steps):
            now = 0.9 * now + math.sqrt(1 - 0.9**2) * self.uneven * rng.standard_normal()
            found[step] = math.exp(level / 2 + drift * (step / self.n_steps - 0.5) + now)
        for begin in rng.integers(0, max(self.n_steps, 1), 3 if self.uneven else 0):
            found[begin : begin + rng.integers(1, 8)] *= 1 + 10 * self.uneven * rng.random()
        return found

    def results(self) -> Analysis:
        """Its analyses."""
        return Analysis(read_xspace(self.xspace()))

    def profile(self, folder: Path) -> tfprof.Profile:
        """The same, loaded from a file in `folder`."""
        path = folder / f"run_{abs(hash(repr(self))):x}.xplane.pb"
        path.write_bytes(self.xspace())
        return tfprof.load(path)


_analysed: dict[str, Analysis] = {}
"""Many tests compare one run with another of their own."""


def diff_of(a: Run, b: Run) -> RunDiff:
    """The difference of two runs, of which each is analysed once."""
    for run in (a, b):
        if repr(run) not in _analysed:
            _analysed[repr(run)] = run.results()
    return RunDiff(_analysed[repr(a)], _analysed[repr(b)])


def with_times(changes: Mapping[str, float]) -> dict[str, float]:
    """`MODEL` with ops of some layers taking so many times as long."""
    return {name: us * changes.get(name.split("/")[1], 1.0) for name, us in MODEL.items()}
