"""A number of events, or a kind and its size -> a capture of it, kept under build/bench from one run to the next."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import processes

FOLDER = Path(__file__).parent.parent / "build" / "bench"
BYTES_PER_EVENT = 1150
"""Memory that TensorFlow's profiler takes while it captures: 10.7 GB for 10 million events."""
SECONDS_PER_EVENT = 20e-6
N_REPEATED = 1_000_000
"""Events of the capture that is repeated where memory is too short for a larger one."""


@dataclass(frozen=True)
class Capture:
    n_wanted: int
    file: Path
    is_repeated: bool
    """Whether it is a smaller capture several times over, with shifted times and ids."""


def capture_of(n_events: int, *, may_capture: bool = True) -> Capture:
    """The capture of so many events; made when there is none yet.

    Raises:
        RuntimeError: with the reason when it cannot be made.
    """
    folder = FOLDER / str(n_events)
    for name in ("capture", "repeated"):
        file = folder / f"{name}.xplane.pb"
        if file.exists():
            return Capture(n_events, file, name == "repeated")
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    has_memory = processes.available_bytes() > n_events * BYTES_PER_EVENT + 2 * 2**30
    is_repeated = n_events > N_REPEATED and not (has_memory and may_capture)
    target = folder / f"{'repeated' if is_repeated else 'capture'}.xplane.pb"
    if is_repeated:
        how = ("repeat_capture.py", capture_of(N_REPEATED).file, n_events, target)
        print(f"{n_events:,} events: repeating a capture of {N_REPEATED:,} ...", file=sys.stderr, flush=True)
    else:
        how = ("make_capture.py", folder / "session", n_events, target)
        print(f"{n_events:,} events: training for a capture ...", file=sys.stderr, flush=True)
    outcome = processes.run(*how, timeout_s=300 + 5 * n_events * SECONDS_PER_EVENT)
    if outcome.problem:
        raise RuntimeError(f"no capture of {n_events:,} events: {outcome.problem}")
    print(f"  {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return Capture(n_events, target, is_repeated)


def foreign_capture(kind: str, size: int) -> Path:
    """The capture of a kind of `make_foreign.py`; made when there is none yet.

    Raises:
        RuntimeError: with the reason when it cannot be made.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"foreign_{kind}_{size}.xplane.pb"
    if not file.exists():
        outcome = processes.run("make_foreign.py", kind, size, file, timeout_s=900)
        if outcome.problem:
            raise RuntimeError(f"no capture of {size:,} {kind}: {outcome.problem}")
    return file
