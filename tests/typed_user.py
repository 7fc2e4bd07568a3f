"""A program that holds every public name in its hands, and some mistakes: `mypy --strict` reads it, nobody runs it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import tensorflow as tf
from IPython.core.interactiveshell import InteractiveShell
from typing_extensions import assert_type

import tfprof_widgets as tfprof


def train_step(batch: int) -> None:
    """Train on a batch."""
    del batch


def captured(model: tf.keras.Model, dataset: Iterable[int]) -> tfprof.Profile:
    """Profile a program in each of the ways that there are."""
    with tfprof.profile(range(10, 20), system=20.0, logdir=Path("logs"), max_bytes=2**20, detail="low") as prof:
        for batch in tfprof.trace_steps(dataset, name="train"):
            assert_type(batch, int)
            train_step(batch)
        with tfprof.step(3, name="test"):
            train_step(3)
    callback = tfprof.ProfileCallback(steps=lambda number: number % 100 == 0, every_seconds=None, system=False)
    model.fit(dataset, callbacks=[callback])
    assert_type(callback.profile, tfprof.Profile)
    assert_type(callback.profiles, list[tfprof.Profile])
    hook = tfprof.ProfilerHook(save_steps=100, output_dir="timelines", max_steps=10)
    assert_type(hook.profile, tfprof.Profile)
    assert_type(hook.profiles, list[tfprof.Profile])
    assert_type(tfprof.from_run_metadata(b"", graph=b""), tfprof.Profile)
    assert_type(tfprof.stop(), tfprof.Profile | None)
    assert_type(prof, tfprof.Profile)
    return prof


def loaded(path: Path) -> tfprof.Profile:
    """Open a profile from disk, of which a log directory may hold something else."""
    left = tfprof.recover()
    assert_type(left, pd.DataFrame)
    try:
        run = tfprof.load(path, graph="graph.pb")
    except tfprof.EmptyTraceError as error:
        assert_type(error, tfprof.EmptyTraceError)
        raise tfprof.CaptureError("no events") from error
    except (tfprof.TraceError, tfprof.TfProfError):
        run = tfprof.load(left["folder"].iloc[0])
    assert_type(run, tfprof.Profile | tfprof.WatchedRun)
    if isinstance(run, tfprof.WatchedRun):
        watched(run)
        return run.windows[0]
    return run


def watched(run: tfprof.WatchedRun) -> list[str]:
    """Watch a training and read what was seen of it."""
    with tfprof.watch(every=1000, max_windows=3, detail="high") as watch:
        assert_type(watch, tfprof.Watch)
        watch.capture(10)
        assert_type(watch.is_running, bool)
    callback = tfprof.WatchCallback(every_seconds=600, windows=False)
    assert_type(callback.watch, tfprof.Watch)
    assert_type(callback.watches, list[tfprof.Watch])
    for table in (run.steps, run.samples):
        assert_type(table, pd.DataFrame)
    assert_type(run.windows, list[tfprof.Profile])
    assert_type(run.folder, Path)
    assert_type(run.to_html("watch.html"), Path)
    view: tfprof.View = watch.dashboard()
    view.close()
    oddities: list[tfprof.Anomaly] = [*run.anomalies, *watch.anomalies]
    return [f"{one.first_step} {one.title}" for one in oddities] + [run.report()]


def remote() -> tuple[tfprof.Profile, tfprof.CaptureDialog]:
    """Capture other processes, by a call and by a form."""
    with tfprof.serve(6009, token="secret") as server:
        assert_type(server, tfprof.ProfilerServer)
        assert_type((server.address, server.port), tuple[str, int])
    workers = tfprof.capture_remote(["10.0.0.5:6009"], 500, token="secret", logdir="logs")
    dialog = tfprof.capture_dialog("10.0.0.5:6009", duration_ms=500)
    assert_type(dialog.profile, tfprof.Profile | None)
    assert_type(dialog.profiles, tuple[tfprof.Profile, ...])
    return workers, dialog


def numbers(prof: tfprof.Profile) -> float:
    """Read what a profile holds."""
    tables = [
        *(
            prof.events,
            prof.flows,
            prof.steps,
            prof.step_guide,
            prof.idle,
            prof.attribution,
            prof.kernel_launches,
            prof.ops,
            prof.kernels,
        ),
        *(prof.copies, prof.roofline, prof.hlo_ops, prof.program_memory, prof.layers, prof.source_lines, prof.scopes),
        *(prof.advice_table, prof.counters, prof.variables, prof.workers, prof.stragglers, prof.communication),
        *(prof.system, prof.system_findings, prof.hosts, prof.select().op_statistics(by="type", idle=True)),
        *(prof.roofline_by("layer"), prof.hlo_graph("fusion.1"), prof.tree("code", max_depth=3)),
    ]
    assert_type(tables, list[pd.DataFrame])
    overview: tfprof.Overview = prof.overview
    assert_type(overview.step_time_avg_ms, float)
    assert_type(overview.verdict, str)
    memory: tfprof.MemoryProfile | tfprof.ReducedMemory = prof.memory
    assert_type(memory.peak(), pd.DataFrame)
    for allocator in memory.allocators:
        assert_type(memory.peak(allocator), pd.DataFrame)
        growth: tfprof.MemoryGrowth = memory.growth(allocator)
        assert_type(growth.bytes_per_step, float)
    inputs: tfprof.InputPipeline = prof.input_pipeline
    assert_type(inputs.input_ratio, float)
    assert_type(inputs.sentence, str)
    best: list[tfprof.Advice] = [one for one in prof.advice if one.severity == "high"]
    capture: tfprof.CaptureSummary | None = prof.capture
    cost: tfprof.CaptureCost | None = prof.cost
    failure: tfprof.MemoryFailure | None = prof.memory_failure
    if failure is not None and failure.batch_size_that_fits is not None:
        assert_type(failure.batch_size_that_fits, int)
    trace: tfprof.Trace = prof.trace
    assert_type(trace.n_events, int)
    assert_type(prof.notices, tuple[str, ...])
    whole = prof.host("worker-1") if not prof.has_events else prof.aligned()
    assert_type(whole, tfprof.Profile)
    schema: tfprof.TableList = prof.tables
    assert_type((schema.frame, prof.sql("from steps")), tuple[pd.DataFrame, pd.DataFrame])
    part: tfprof.Selection = prof.select(step="train 3", ops=["MatMul"])
    assert_type(part.ops, pd.DataFrame)
    seconds = 0.0 if cost is None or capture is None else cost.start_s + capture.stop_s
    return seconds + sum(one.gain_ratio or 0.0 for one in best)


def shown(prof: tfprof.Profile) -> list[tfprof.View]:
    """Show a profile, and write it."""
    link: tfprof.LinkModel = prof.link
    link.time_range = (0, 1_000_000)
    for path in (
        *(prof.to_html("run.html", embed="full"), prof.to_chrome_trace("trace.json.gz"), prof.to_csv("tables")),
        *(prof.to_parquet("tables"), prof.to_pprof("costs.pb.gz", "scope"), prof.save(Path("run"))),
    ):
        assert_type(path, Path)
    assert_type((prof.report(), prof.text(), prof.tree_text("op")), tuple[str, str, str])
    return [
        *(prof.timeline(), prof.memory_timeline(), prof.op_table(), prof.input_graph(), prof.step_chart()),
        *(prof.overview_panel(), prof.kernel_table(), prof.copy_table(), prof.roofline_chart(), prof.hlo_table()),
        *(prof.layer_table(), prof.source_view(), prof.scope_icicle(), prof.tree_view("op"), prof.worker_chart()),
        *(prof.dashboard(), prof.dashboard(compact=True)),
    ]


def compared(before: tfprof.Profile, after: tfprof.Profile) -> bool:
    """Compare two runs, and several."""
    changes: tfprof.ProfileDiff = tfprof.diff(before, after)
    assert_type((changes.summary, changes.ops, changes.layers), tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame])
    assert_type(changes.step_time_interval, tuple[float, float])
    scaling: tfprof.Scaling = tfprof.scaling([before, after], global_batch="fixed")
    assert_type((scaling.sentence, scaling.frame), tuple[str, pd.DataFrame])
    return changes.step_time_ratio < 1.05 and not changes.is_within_noise


def measured(model: tf.keras.Model, dataset: tf.data.Dataset) -> pd.DataFrame:
    """Measure what other choices would win."""
    found: list[tfprof.experiments.ExperimentResult] = [
        tfprof.experiments.input_only(dataset, n_steps=20),
        tfprof.experiments.input_or_model(model, dataset),
        tfprof.experiments.synthetic(model, dataset, max_seconds=5),
        tfprof.experiments.batch_sizes(model, lambda size: dataset.batch(size), [32, 64]),
        tfprof.experiments.without_callbacks(model, dataset, [tfprof.ProfileCallback()], each=True),
        tfprof.experiments.ablate(model, dataset, {"shuffle": lambda ds: ds.shuffle(100)}, drop=["shuffle"]),
    ]
    return pd.concat([one.table for one in found])


def checked(shell: InteractiveShell) -> tuple[str, ...]:
    """See whether captures will work here."""
    with contextlib.suppress(tfprof.TfProfError):
        tfprof.load_ipython_extension(shell)
        tfprof.unload_ipython_extension(shell)
    report: tfprof.DoctorReport = tfprof.doctor()
    assert_type(report.is_ok, bool)
    return tuple(check.remedy for check in report.checks)


def mistaken(prof: tfprof.Profile) -> None:
    """Write what a type checker has to refuse: strict `mypy` complains of a `type: ignore` that nothing needs."""
    str(tfprof.load("run").overview)  # type: ignore[union-attr]
    tfprof.ProfileCallback(range(10), 5, True)  # type: ignore[call-arg]
    tfprof.ProfilerHook(stepz=3)  # type: ignore[call-arg]
    tfprof.load("run", "graph.pb")  # type: ignore[call-arg]
    with tfprof.profile(detail="lowest"):  # type: ignore[arg-type]
        prof.steps.append(3)  # type: ignore[operator]
    str(prof.step_tables)  # type: ignore[attr-defined]
    tfprof.watch(every="3")  # type: ignore[arg-type]
    tfprof.scaling([prof], global_batch="shrinks")  # type: ignore[arg-type]
    tfprof.diff(prof, "run")  # type: ignore[arg-type]
