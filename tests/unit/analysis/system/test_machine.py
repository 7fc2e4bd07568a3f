"""Samples of the machine: what is odd in them, and how busy it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from tests.builders import Event, event, line, plane, session, trace
from tests.unit.analysis.comparison.drawn_runs import Run
from tfprof_widgets.analysis import MOST_DIPS, TABLES, Analysis, MachineLoad, Overview, find_anomalies
from tfprof_widgets.export import Subject, profile_html, render_report, summarize

Values = npt.NDArray[np.float64]
HZ = 10


def sampled(seconds: float = 10.0, *, noise: float = 0.02, **columns: Callable[[Values], Values]) -> pd.DataFrame:
    """Ten samples a second from one second before the trace on, each column with a little noise of a fixed seed."""
    rng = np.random.default_rng(5)
    time_s = np.arange(0, seconds, 1 / HZ)
    frame = pd.DataFrame({"time_ms": time_s * 1e3 - 1e3})
    for name, values in columns.items():
        frame[name] = values(time_s) * (1 + noise * rng.standard_normal(len(time_s)))
    return frame


def level(value: float) -> Callable[[Values], Values]:
    """The same all the time."""
    return lambda time_s: np.full(len(time_s), value)


def total(rate: Callable[[Values], Values]) -> Callable[[Values], Values]:
    """What has been counted so far at such a rate a second."""
    return lambda time_s: np.append(0.0, np.cumsum(rate(time_s[:-1])) / HZ)


COLUMNS = TABLES["system_findings"].names

MB = 1e6


def kinds(system: pd.DataFrame) -> list[str]:
    return list(find_anomalies(system)["kind"])


def dipping(low: float, high: float, *spans: tuple[float, float]):  # type: ignore[no-untyped-def]
    def values(time_s: Values) -> Values:
        is_low = np.any([(time_s >= begin - 1e-9) & (time_s < end - 1e-9) for begin, end in spans], axis=0)
        return np.where(is_low, low, high)

    return values


def test_a_calm_machine_has_no_findings_and_the_table_its_columns() -> None:
    system = sampled(
        cpu_pct=level(70), process_cpu_pct=level(140), gpu_pct=level(95), rss_bytes=level(2e9),
        net_recv_bytes=total(level(20 * MB)), net_sent_bytes=total(level(1e4)), noise=0.0,
    )  # fmt: skip
    noisy = system.assign(cpu_pct=sampled(cpu_pct=level(70), noise=0.1)["cpu_pct"])
    for one in (system, noisy):
        found = find_anomalies(one)
        assert tuple(found.columns) == COLUMNS == ("kind", "metric", "start_ms", "end_ms", "value", "unit", "text")
        assert found.empty


@pytest.mark.parametrize("metric", ["cpu_pct", "process_cpu_pct", "gpu_pct"])
def test_a_dip_is_told_with_its_span_and_its_load(metric: str) -> None:
    (row,) = find_anomalies(sampled(**{metric: dipping(10, 90, (4, 5))})).to_dict("records")
    assert (row["kind"], row["metric"], row["unit"]) == ("utilisation_dip", metric, "%")
    assert row["value"] == pytest.approx(10, rel=0.1)
    # A load is the mean since the sample before it.
    assert (row["start_ms"], row["end_ms"]) == (pytest.approx(2900), pytest.approx(3900))
    assert row["text"].endswith(".")


def test_short_dips_the_ends_of_a_capture_and_idle_machines_are_no_dips() -> None:
    assert kinds(sampled(cpu_pct=dipping(5, 90, (4, 4.1)))) == []
    assert kinds(sampled(cpu_pct=dipping(5, 90, (9, 10)))) == []
    assert kinds(sampled(cpu_pct=dipping(1, 9, (4, 6)))) == []


def test_of_many_dips_the_longest_are_listed_and_their_number_is_told() -> None:
    spans = [(float(k), k + (0.8 if k == 7 else 0.5)) for k in range(2, 18, 2)] + [(7.0, 7.8)]
    found = find_anomalies(sampled(20, gpu_pct=dipping(5, 90, *spans)))
    assert len(found) == MOST_DIPS
    assert f"One of {len(spans)} dips; the longest {MOST_DIPS} are listed." in found["text"][0]
    assert found["start_ms"].is_monotonic_increasing
    assert (found["end_ms"] - found["start_ms"]).max() == pytest.approx(800)


def test_a_choppy_network_in() -> None:
    bursts = total(lambda time_s: np.where(time_s % 1 < 0.5, 80 * MB, 0))
    (row,) = find_anomalies(sampled(net_recv_bytes=bursts, noise=0.0)).to_dict("records")
    assert (row["kind"], row["unit"]) == ("choppy_network_in", "%")
    assert row["value"] == pytest.approx(50, abs=5)
    assert "pauses" in row["text"]


def test_a_full_network_in_is_told_with_the_speed_of_a_usual_link() -> None:
    full = total(lambda time_s: np.where((time_s > 0.5) & (time_s < 9), 0.94 * 125 * MB, 0))
    (row,) = find_anomalies(sampled(net_recv_bytes=full, noise=0.0)).to_dict("records")
    assert (row["kind"], row["unit"]) == ("saturated_network_in", "bytes/s")
    assert row["value"] == pytest.approx(0.94 * 125 * MB, rel=0.01)
    assert "94 % of a link of 1 Gbit/s" in row["text"]


def test_transfers_out_that_grow_each_time() -> None:
    def growing(time_s: Values) -> Values:
        return np.where(time_s % 2 < 0.5, 10 * MB * (1 + np.floor(time_s / 2)), 0)

    def equal(time_s: Values) -> Values:
        return np.where(time_s % 2 < 0.5, 10 * MB, 0)

    (row,) = find_anomalies(sampled(net_sent_bytes=total(growing), noise=0.0)).to_dict("records")
    assert (row["kind"], row["unit"]) == ("growing_network_out", "ratio")
    assert row["value"] == pytest.approx(5)
    assert kinds(sampled(net_sent_bytes=total(equal), noise=0.0)) == []


def test_a_late_start_is_told_of_the_gpu_and_without_one_of_the_process() -> None:
    late = dipping(2, 90, (0, 3))
    (row,) = find_anomalies(sampled(gpu_pct=late, process_cpu_pct=level(100))).to_dict("records")
    assert (row["kind"], row["metric"], row["unit"]) == ("late_start", "gpu_pct", "s")
    assert row["value"] == pytest.approx(2.9)
    assert list(find_anomalies(sampled(process_cpu_pct=late))["metric"]) == ["process_cpu_pct"]
    assert kinds(sampled(gpu_pct=dipping(2, 90, (0, 0.5)))) == []


def test_nothing_is_said_of_captures_too_short_to_tell() -> None:
    assert kinds(sampled(1.9, cpu_pct=dipping(5, 90, (0.5, 1)))) == []
    sparse = sampled(10, cpu_pct=dipping(5, 90, (4, 6))).iloc[::8]
    assert kinds(sparse) == []
    assert find_anomalies(None).empty
    assert list(find_anomalies(pd.DataFrame()).columns) == list(COLUMNS)


def test_samples_with_gaps_twins_and_disorder_are_read_all_the_same() -> None:
    system = sampled(gpu_pct=dipping(5, 90, (4, 6)))
    damaged = pd.concat([system, system.iloc[[7]]]).sample(frac=1, random_state=1)
    damaged.loc[3, "gpu_pct"] = np.nan
    pd.testing.assert_frame_equal(find_anomalies(damaged), find_anomalies(system))
    assert find_anomalies(system.assign(gpu_pct=np.nan)).empty


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
        (MachineLoad(2, 1.9, 0.05), False),  # it uses the machine alone
        (MachineLoad(2, 0.1, 0.05), False),  # idle
        (MachineLoad(2, 0.3, 0.5), False),  # a core is free
        (MachineLoad(2, 0.2, 0.1, children=1.7), False),  # its own workers
        (MachineLoad(64, 60.0, 1.0), False),  # a 64th is noise, however full it is
        (MachineLoad(64, 1.95, 62.0, quota=2.0), False),  # a container that has all that it may use
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
