"""Whether a machine was busy with other programs while the steps ran, and where a reader is told."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest

from tests.builders import Event, event, line, plane, session, trace
from tests.unit.analysis.advice.gpu_drawings import gpu_run
from tests.unit.analysis.comparison.drawn_runs import Run
from tfprof_widgets.analysis import Analysis, MachineLoad, Overview
from tfprof_widgets.export import Subject, profile_html, render_report, summarize

BUSY = "Other programs used 1.73 of 2 cores meanwhile; this one got 0.270: times may be longer than on a free machine."


def samples(n_cores: int, own: float, others: float, children: float = 0.0, *, ms: float = 2_000) -> pd.DataFrame:
    """A sample every 10 ms of who used how many cores."""
    whole = 100 * (own + others + children) / n_cores
    loads = {"cpu_pct": whole, "process_cpu_pct": 100 * own, "children_cpu_pct": 100 * children}
    loads |= {f"cpu{k}_pct": whole for k in range(n_cores)}
    return pd.DataFrame({"time_ms": [10.0 * k for k in range(int(ms / 10))]}).assign(**loads)


def on_cpu(system: pd.DataFrame | None) -> Overview:
    events: list[Event] = []
    for i in range(12):
        events += [event("train", 10_000 * i, 10_000, _r=1, step_num=i), event("m/x:MatMul", 10_000 * i + 10, 9_900)]
    drawing = trace(plane("/host:CPU", line("main", *events)), session(duration_us=120_000))
    return Analysis(drawing, system=system).overview


@pytest.mark.parametrize(
    ("load", "is_busy"),
    [
        (MachineLoad(2, 0.27, 1.73), True),
        (MachineLoad(2, 1.0, 0.95), True),
        (MachineLoad(2, 1.9, 0.05), False),  # it uses the machine alone
        (MachineLoad(2, 0.1, 0.05), False),  # idle
        (MachineLoad(2, 0.9, 0.1), False),
        (MachineLoad(2, 0.3, 0.5), False),  # a core is free
        (MachineLoad(2, 0.2, 0.1, children=1.7), False),  # its own workers
        (MachineLoad(64, 60.0, 1.0), False),  # a 64th is noise, however full it is
        (MachineLoad(64, 1.0, 58.0), True),
        (MachineLoad(16, 0.5, 14.0), True),
        (MachineLoad(64, 1.95, 62.0, quota=2.0), False),  # a container that has all that it may use
        (MachineLoad(64, 0.4, 63.5, quota=2.0), True),
        (MachineLoad(64, 1.0, 40.0, quota=2.0), False),  # its limit slows it, not the others
        (MachineLoad(1, 0.5, 0.5), True),
    ],
)
def test_a_machine_is_busy_where_others_take_cores_that_the_program_could_use(load: MachineLoad, is_busy: bool) -> None:
    assert load.is_busy is is_busy


def test_a_busy_machine_is_the_second_line_and_the_verdict_stays() -> None:
    run = Run(n_steps=12)
    results = dataclasses.replace(run.results(), system=samples(2, 0.27, 1.73))
    overview = results.overview
    assert overview.verdict == run.results().overview.verdict
    assert overview.verdict_detail.startswith(BUSY)
    shown = (profile_html(Subject(results=results)), render_report(Subject(results=results)), summarize(results))
    for text in shown:
        assert text.index(overview.verdict[:30]) < text.index(BUSY)
        assert len(text[text.index(overview.verdict[:30]) : text.index(BUSY)].splitlines()) <= 3


@pytest.mark.parametrize(
    "system",
    [None, samples(2, 1.9, 0.05), samples(2, 0.1, 0.02), samples(8, 0.5, 3.0), samples(2, 0.27, 1.73, ms=20)],
    ids=["not sampled", "alone", "idle", "free cores", "two samples"],
)
def test_a_free_machine_and_one_that_is_not_known_are_not_told(system: pd.DataFrame | None) -> None:
    assert "cores" not in on_cpu(system).verdict_detail


def test_workers_of_the_program_are_told_as_its_own() -> None:
    detail = on_cpu(samples(2, 0.3, 0.05, 1.6)).verdict_detail
    assert detail.startswith("Processes that this one started used 1.60 of 2 cores meanwhile; this one got 0.300.")
    assert "Other programs" not in detail


@pytest.mark.parametrize(("kernel_us", "is_told"), [(900, False), (50, True)])
def test_a_run_that_a_device_limits_does_not_depend_on_the_cores(kernel_us: float, is_told: bool) -> None:
    results = gpu_run([("matmul", 20, kernel_us)], n_steps=100)
    found = dataclasses.replace(results, system=samples(2, 0.27, 1.73)).overview
    assert ("Other programs" in found.verdict_detail) is is_told
