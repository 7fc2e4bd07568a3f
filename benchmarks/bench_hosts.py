"""Drawn runs of 10 to 1,000 hosts -> time and the parent's memory of loading them, by processes and by a Dask cluster.

Run as `python benchmarks/bench_hosts.py [--hosts 10,100,300,1000] [--layers 1,200]`; `make bench` runs it last.
Each figure is of a process of its own, and beside each stands what the time of 100 hosts lets one expect. Two of the hosts
are drawn to be late; that the profile names them is checked, and that both executors give the same tables, bit by bit.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import captures
import processes
from marks import Mark
from processes import Outcome
from table import aligned, bytes_text, count_text, markdown, seconds_text

HOSTS = (10, 100, 300, 1000)
QUICK_HOSTS = (10, 20)
LAYERS = (1, 200)
"""Of one host: 60 events, and some 5,000."""
EXECUTORS = ("processes", "dask")
BASE_HOSTS = 100
PROJECTED = 10_000
MAX_PARENT_BYTES = 2 * 2**30
MAX_GROWTH = 1.5
"""Times the growth of the hosts: what is linear, on a machine that others use too."""
LATE = {"worker0003": "host_compute", "worker0007": "input"}
"""Hosts that are drawn to be late, and with what."""
N_WORKERS = 2
"""Processes of the Dask cluster."""
FRAMES = (
    "events",
    "steps",
    "ops",
    "kernels",
    "hlo_ops",
    "layers",
    "scopes",
    "workers",
    "stragglers",
    "communication",
    "hosts",
)
TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Loaded:
    """One run loaded by one executor."""

    n_hosts: int
    n_layers: int
    executor: str
    outcome: Outcome


def run(hosts: Sequence[int] = HOSTS, layers: Sequence[int] = LAYERS) -> list[Loaded]:
    """Measure each run with each executor."""
    found = []
    for n_layers in layers:
        drawn = _drawn(max(hosts), n_layers)
        for n_hosts in hosts:
            directory = _part(drawn, n_hosts)
            for executor in EXECUTORS:
                print(f"{n_hosts} hosts of {n_layers} layers, {executor} ...", file=sys.stderr, flush=True)
                outcome = processes.run(Path(__file__).name, "--load", directory, executor, timeout_s=TIMEOUT_S)
                found.append(Loaded(n_hosts, n_layers, executor, outcome))
                print("   ", *table(found)[-1][3:6], file=sys.stderr, flush=True)
            shutil.rmtree(directory)
    return found


def table(found: Sequence[Loaded]) -> list[list[str]]:
    """A row per run and executor."""
    head = [
        "hosts",
        "events each",
        "executor",
        "load",
        "per host",
        "CPU per host",
        "times 100 hosts'",
        "parent's peak",
        "tables",
        "late hosts",
    ]
    return [head, *(_row(one, found) for one in found)]


def _row(one: Loaded, found: Sequence[Loaded]) -> list[str]:
    if one.outcome.problem:
        return [count_text(one.n_hosts), "", one.executor, one.outcome.problem, *[""] * 6]
    result, growth = one.outcome.result, _growth(one, found)
    return [
        count_text(one.n_hosts),
        f"{result['n_events'] / one.n_hosts:,.0f}",
        one.executor,
        seconds_text(result["seconds"]),
        seconds_text(result["seconds"] / one.n_hosts),
        seconds_text(result["cpu_seconds"] / one.n_hosts),
        "" if growth is None else f"{growth:.2f}",
        bytes_text(result["peak_bytes"]),
        "read whole" if result["has_events"] else "equal" if _is_equal(one, found) else "DIFFER",
        _late_words(result["late"]),
    ]


def _growth(one: Loaded, found: Sequence[Loaded]) -> float | None:
    """The time over what the time of 100 hosts lets expect."""
    base = _seconds(found, BASE_HOSTS, one.n_layers, one.executor)
    return None if base is None else one.outcome.result["seconds"] / (base * one.n_hosts / BASE_HOSTS)


def _seconds(found: Sequence[Loaded], n_hosts: int, n_layers: int, executor: str) -> float | None:
    for one in found:
        if (one.n_hosts, one.n_layers, one.executor) == (n_hosts, n_layers, executor) and not one.outcome.problem:
            return float(one.outcome.result["seconds"])
    return None


def _is_equal(one: Loaded, found: Sequence[Loaded]) -> bool:
    """Whether all that reduced the same run came to the same tables; a small run that was read whole has all its events."""
    runs = [other for other in found if (other.n_hosts, other.n_layers) == (one.n_hosts, one.n_layers)]
    same = [other for other in runs if other.outcome.get("has_events") is False]
    return len({json.dumps(other.outcome.get("digests")) for other in same}) <= 1


def _late_words(late: dict[str, str]) -> str:
    return (
        "found" if late == LATE else "MISSED: " + (", ".join(f"{host} {why}" for host, why in late.items()) or "none")
    )


def marks(found: Sequence[Loaded]) -> list[Mark]:
    """What must hold of the largest runs."""
    good = [one for one in found if not one.outcome.problem]
    result = [
        Mark(f"{one.n_hosts:,} hosts by {one.executor}", one.outcome.problem, False)
        for one in found
        if one.outcome.problem
    ]
    if not good:
        return result
    peak = max(one.outcome.result["peak_bytes"] for one in good)
    most = max(one.n_hosts for one in good)
    result.append(
        Mark(f"memory of the parent at up to {most:,} hosts under 2 GiB", bytes_text(peak), peak < MAX_PARENT_BYTES)
    )
    growths = [growth for one in good if one.n_hosts > BASE_HOSTS and (growth := _growth(one, found)) is not None]
    if growths:
        text = f"time linear in hosts from {BASE_HOSTS} on, within {MAX_GROWTH:g} times"
        result.append(Mark(text, f"at most {max(growths):.2f} times", max(growths) <= MAX_GROWTH))
    unequal = sum(not _is_equal(one, found) for one in good)
    result.append(Mark("both executors give equal tables", f"{unequal} of {len(good)} differ", unequal == 0))
    missed = sum(one.outcome.result["late"] != LATE for one in good)
    result.append(Mark("the hosts drawn to be late are found", f"{missed} of {len(good)} missed some", missed == 0))
    return result


def projections(found: Sequence[Loaded]) -> list[str]:
    """A sentence per executor: what the largest two runs let one expect of 10,000 hosts."""
    told = []
    for executor, n_layers in dict.fromkeys((one.executor, one.n_layers) for one in found):
        own = [one for one in found if (one.executor, one.n_layers) == (executor, n_layers) and not one.outcome.problem]
        if len(own) < 2:
            continue
        low, high = (one.outcome.result for one in own[-2:])
        n_low, n_high = (one.n_hosts for one in own[-2:])
        seconds, peak = (
            high[name] + max(high[name] - low[name], 0) / (n_high - n_low) * (PROJECTED - n_high)
            for name in ("seconds", "peak_bytes")
        )
        told.append(
            f"{PROJECTED:,} hosts of {high['n_events'] / n_high:,.0f} events by {executor}, from {n_low:,} and {n_high:,}: "
            f"{seconds_text(seconds)}, {bytes_text(peak)} in the parent"
        )
    return told


def _drawn(n_hosts: int, n_layers: int) -> Path:
    """The largest run, drawn once and kept; its first hosts are the smaller ones."""
    from tests.cluster import Cluster

    directory = captures.FOLDER / "hosts" / f"{n_hosts}-{n_layers}"
    if not directory.exists():
        part = directory.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        print(f"drawing {n_hosts} hosts of {n_layers} layers ...", file=sys.stderr, flush=True)
        Cluster(n_hosts, n_layers=n_layers, slow_compute={3: 1.5}, slow_input={7: 4.0}).draw(part)
        part.rename(directory)
    return next((directory / "plugins" / "profile").iterdir())


def _part(run_directory: Path, n_hosts: int) -> Path:
    """A run of its first hosts."""
    part = run_directory.parents[2] / f"first-{n_hosts}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for file in sorted(run_directory.iterdir())[:n_hosts]:
        os.link(file, part / file.name)
    return part


def load(directory: Path, kind: str) -> dict[str, Any]:
    """Load a run in this process and look at its tables; runs alone in a process."""
    import tfprof_widgets as tfprof

    with _executor(kind) as executor:
        begin = time.perf_counter()
        prof = tfprof.load(directory, executor=executor)
        seconds = time.perf_counter() - begin
    cpu_seconds = _cpu_seconds()
    late = prof.stragglers
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "has_events": prof.has_events,
        "digests": {name: _digest(getattr(prof, name)) for name in FRAMES},
        "late": dict(zip(late["host"], late["category"], strict=True)),
        "n_events": int(prof.hosts["n_events"].sum()),
        "peak_bytes": _peak_bytes(),
    }


@contextlib.contextmanager
def _executor(kind: str) -> Iterator[Executor | None]:
    if kind != "dask":
        yield None
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor()


def _digest(frame: Any) -> str:
    from pandas.util import hash_pandas_object

    rows = hash_pandas_object(frame.astype({name: str for name in frame.columns if frame[name].dtype == object}))
    return hashlib.sha256(repr([*frame.dtypes.items()]).encode() + rows.to_numpy().tobytes()).hexdigest()[:16]


def _cpu_seconds() -> float:
    """Of this process and of those that it started and that ended: what else the machine does, it does not count."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak_bytes() -> int:
    """The most memory this process had; what `getrusage` tells can be its parent's."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status names no VmHWM: this benchmark needs Linux")


def main() -> int:
    arguments = _arguments()
    if arguments.load:
        print(json.dumps(load(Path(arguments.load[0]), arguments.load[1])))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what is being measured ends too
    begin = time.monotonic()
    found = run(arguments.hosts, arguments.layers)
    machine = (
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; measured in {seconds_text(time.monotonic() - begin)}"
    )
    told = [*map(str, marks(found)), *projections(found)]
    print("\n\n".join([aligned(table(found)), machine, "\n".join(told)]))
    report = captures.FOLDER / "hosts.md"
    lines = "\n".join(f"- {line}" for line in told)
    report.write_text("\n\n".join(["# Many hosts", markdown(table(found)), machine, lines]) + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=_numbers, default=HOSTS, help="numbers of hosts, with commas between them")
    parser.add_argument(
        "--layers", type=_numbers, default=LAYERS, help="layers of the drawn model: 24 events each a host"
    )
    parser.add_argument("--load", nargs=2, metavar=("DIRECTORY", "EXECUTOR"), help="measure one run in this process")
    return parser.parse_args()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(part.replace("_", "")) for part in text.split(",")))


if __name__ == "__main__":
    raise SystemExit(main())
