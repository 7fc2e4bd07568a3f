"""A drawn run of two hosts: one with memory, kernels, a compiled program and a pipeline, and one of ops and steps alone."""

from __future__ import annotations

from pathlib import Path

from tests.browser.drawings import N_STEPS, STEP_US
from tests.browser.full_run import PLAIN, Words, write_run
from tests.builders import event, line, plane, session, space

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
