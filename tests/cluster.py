"""Drawings of trainings on two and on many hosts, stragglers planted -> one xplane.pb file per host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.browser.drawings import N_STEPS, STEP_US
from tests.browser.full_run import PLAIN, Words, write_run
from tests.builders import EPOCH_NS, Event, event, line, plane, session, space

RUN = "2026_11_01_00_00_00"


@dataclass(frozen=True)
class Cluster:
    """What is drawn. Times are microseconds."""

    n_hosts: int
    n_steps: int = 12
    input_us: float = 400.0
    compute_us: float = 2000.0
    transfer_us: float = 600.0
    jitter_ratio: float = 0.02
    slow_compute: dict[int, float] = field(default_factory=dict)
    """Host -> by what its compute takes longer."""
    slow_input: dict[int, float] = field(default_factory=dict)
    """Host -> by what its input takes longer."""
    n_layers: int = 1
    """Into so many pairs of ops the compute of each step is cut; 200 make a host of some 5,000 events."""
    clock_us: dict[int, float] = field(default_factory=dict)
    """Host -> by what its clock is ahead."""
    seed: int = 0

    def draw(self, directory: Path) -> Path:
        """Write the run below a log directory; returns the run directory."""
        run = directory / "plugins" / "profile" / RUN
        run.mkdir(parents=True)
        for host, content in self.files():
            (run / f"{host}.xplane.pb").write_bytes(content)
        return run

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Each host with its file."""
        times = self.times()
        for host in range(self.n_hosts):
            yield host_name(host), self._host(host, *times)

    def times(self) -> tuple[np.ndarray, np.ndarray]:
        """Duration of input and of compute, each of shape (hosts, steps)."""
        random = np.random.default_rng(self.seed)
        shape = self.n_hosts, self.n_steps
        read = self.input_us * (1 + self.jitter_ratio * random.standard_normal(shape))
        compute = self.compute_us * (1 + self.jitter_ratio * random.standard_normal(shape))
        for host, factor in self.slow_input.items():
            read[host] *= factor
        for host, factor in self.slow_compute.items():
            compute[host] *= factor
        return read.round(3), compute.round(3)  # whole nanoseconds, so that no event overlaps the next

    def _host(self, host: int, read: np.ndarray, compute: np.ndarray) -> bytes:
        arrival = (read + compute).max(axis=0)
        steps: list[Event] = []
        begin = 10.0
        for step in range(self.n_steps):
            end = begin + arrival[step] + self.transfer_us + 20
            own_read, own_compute = float(read[host, step]), float(compute[host, step])
            arrived = begin + own_read + own_compute
            steps += [
                event("train", begin, end - begin, _r=1, step_num=step),
                event("IteratorGetNext:IteratorGetNext", begin, own_read),
                *self._compute(begin + own_read, own_compute),
                event("CollectiveReduceV2:CollectiveReduceV2", arrived, end - 20 - arrived),
            ]
            begin = end + 5
        return space(
            plane("/host:CPU", line("python", *steps)),
            session(start_ns=EPOCH_NS + round(1e3 * self.clock_us.get(host, 0.0)), duration_us=begin + 10),
            hostnames=[host_name(host)],
        )

    def _compute(self, begin: float, duration: float) -> Iterator[Event]:
        """Ops one after the other."""
        share = duration / self.n_layers
        for layer in range(self.n_layers):
            scope, low = f"dense_{layer}" if layer else "dense", begin + layer * share
            bounds = [round(at, 3) for at in (low, low + 0.7 * share, begin + (layer + 1) * share)]
            yield event(f"{scope}/MatMul:MatMul", bounds[0], round(bounds[1] - bounds[0], 3))
            yield event(f"{scope}/Relu:Relu", bounds[1], round(bounds[2] - bounds[1], 3))


def host_name(host: int) -> str:
    """The name of one host."""
    return f"worker{host:04d}"


FULL, BARE = PLAIN.host, "projects/a-very-long-project-name/zones/europe-west4-a/instances/worker-00042.c.internal"
"""Their names, in the order of the trace."""
BARE_OP = "net/elsewhere/Softmax"
"""An op that ran on the second one only."""


def write_two_hosts(folder: Path, words: Words = PLAIN) -> Path:
    """Write both files into a folder, which is what `load` takes; the names of the first are these words."""
    write_run(folder, words)
    (folder / "host.xplane.pb").rename(folder / f"{FULL}.xplane.pb")
    events = []
    for step in range(N_STEPS):
        at = step * STEP_US
        events.append(event("train", at, STEP_US - 300, _r=1, step_num=step))
        events += [event(f"{words.op}:{words.op_type}", at + 500, 2000), event(f"{BARE_OP}:Softmax", at + 3000, 4000)]
    bare = space(session(duration_us=N_STEPS * STEP_US), plane("/host:CPU", line("python", *events)), hostnames=[BARE])
    (folder / "worker-1.xplane.pb").write_bytes(bare)
    return folder
