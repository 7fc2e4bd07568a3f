"""A program's name -> its cards and what its fix wins, as JSON."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tfprof_widgets as tfprof
from tests.nightly.diagnosis.kit import Program, Run, registered
from tests.nightly.diagnosis.verdict import Card

ROUNDS = 5


def write(name: str, path: str) -> None:
    """Examine a program in this process, which has done nothing else."""
    Path(path).write_text(json.dumps(examine(registered()[name]), indent=1), encoding="utf-8")


def examine(program: Program) -> dict[str, Any]:
    """Profile a warm run with the fault, then time runs with the fault and without in turns, not profiled."""
    if program.n_devices > 1:
        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * program.n_devices)
    run = program.build(False) if program.cause else program.build()
    run()
    with tfprof.profile() as prof:
        run()
    cards = [Card(a.rule, a.severity, a.title, str(a.fix), a.gain_ratio) for a in prof.advice]
    told = {
        "cards": [asdict(card) for card in cards],
        "n_steps": len(prof.steps),
        "verdict": prof.overview.verdict,
        "load": os.getloadavg()[0],
    }
    return told | timed(run, program.build(True)) if program.cause else told


def timed(fault: Run, fix: Run) -> dict[str, float]:
    """Median times of a run, and the share of its time that the fix wins."""
    fix()
    times_s = np.array([(seconds(fault), seconds(fix)) for _ in range(ROUNDS)])
    fault_s, fix_s = np.median(times_s, axis=0)
    return {"fault_s": fault_s, "fix_s": fix_s, "gain_ratio": 1 - float(np.median(times_s[:, 1] / times_s[:, 0]))}


def seconds(run: Run) -> float:
    """How long a run takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
