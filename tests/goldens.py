"""The tables of the captures in `tests/data` and XProf's answers about them, made anew: `python -m tests.goldens [--captures]`.

With `--captures` the captures of CPUs are made anew first, by the programs of `tests.captures` under the TensorFlow that is
installed here. Those of GPUs are what they are.
"""

from __future__ import annotations

import argparse
import tempfile
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests import captures
from tests.captures import committed
from tests.table_goldens import write_goldens
from tests.unit.analysis.parity.parity_case import (
    KINDS,
    LOOPING_KIND,
    TOOLS,
    UNMARKED_KINDS,
    WITHOUT_ITERATIONS,
    without_iterations,
)
from tests.unit.analysis.xprof_oracle import xprof_all


def make_captures() -> None:
    """Run each program of a CPU whose capture is committed."""
    for name in committed.NAMES:
        if name in captures.KINDS:
            with tempfile.TemporaryDirectory() as scratch:
                committed.pack(captures.capture(name, Path(scratch)), name)
            print(f"captured {name}")


def make_answers() -> None:
    """Ask XProf, in one process, all that the parity tests compare with."""
    traces = {name: committed.content(name) for name in (*KINDS, *UNMARKED_KINDS)}
    traces[WITHOUT_ITERATIONS] = without_iterations(traces[LOOPING_KIND])
    for name, tools in xprof_all(traces, *TOOLS).items():
        for allocator in tools["memory_profile"]["memoryProfilePerAllocator"].values():
            _drop_what_is_chance(allocator)
        about = {"version": version("xprof"), "sha256": sha256(traces[name]).hexdigest()}
        committed.write_answers(name, about | {"tools": tools})
    print(f"asked XProf {version('xprof')} about {len(traces)} traces")


def _drop_what_is_chance(allocator: dict[str, Any]) -> None:
    """Of equal allocations alive at the peak XProf shows one that changes from run to run: keep what they have in common."""
    for snapshot in allocator.get("memoryProfileSnapshots", ()):
        snapshot["activityMetadata"].pop("address", None)
        for key in snapshot.keys() - {"activityMetadata"}:
            del snapshot[key]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", action="store_true", help="make the captures of CPUs anew first")
    parser.add_argument("--tables", action="store_true", help="the tables alone, without XProf")
    if parser.parse_args().captures:
        make_captures()
    if not parser.parse_args().tables:
        make_answers()
    write_goldens()
