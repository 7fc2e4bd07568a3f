"""Processes that the profiled one started count as its own; how many cores a container leaves."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tfprof_widgets.capture import Children, MachineReader, ProcCounters, PsutilCounters, cpu_quota, memory_limit

BURN_S = "import time\nt = time.process_time()\nwhile time.process_time() - t < {0}: pass\n"
NESTED = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', sys.argv[1]])"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.parametrize("depth", [1, 2])
def test_the_time_of_children_counts_while_they_run_and_after_they_ended(depth: int) -> None:
    children = Children()
    before_s = children.cpu_s()
    burn = BURN_S.format(0.3)
    command = [sys.executable, "-c", *([burn] if depth == 1 else [NESTED, burn])]
    with subprocess.Popen(command) as child:
        while child.poll() is None:
            time.sleep(0.05)
            while_s = children.cpu_s() - before_s
    assert while_s >= 0
    assert 0.25 <= children.cpu_s() - before_s < 3


def spin() -> None:
    begin = time.process_time()
    while time.process_time() - begin < 1:
        pass


@pytest.mark.parametrize("counters", [ProcCounters, PsutilCounters])
def test_a_row_tells_the_load_of_workers_apart_from_that_of_the_process(
    counters: type[ProcCounters] | type[PsutilCounters],
) -> None:
    reader = MachineReader(counters())
    begin_s, rows = time.perf_counter(), []
    worker = multiprocessing.get_context("spawn").Process(target=spin)
    worker.start()
    while worker.is_alive():
        time.sleep(0.1)
        rows.append((time.perf_counter(), dict(zip(reader.columns, reader.read(), strict=True))))
    worker.join()
    rows.append((time.perf_counter(), dict(zip(reader.columns, reader.read(), strict=True))))
    reader.close()
    used_s, at_s = 0.0, begin_s
    for now_s, row in rows:
        used_s += row["children_cpu_pct"] / 100 * (now_s - at_s)
        at_s = now_s
    assert used_s > 0.3
    assert sum(row["process_cpu_pct"] for _, row in rows) < sum(row["children_cpu_pct"] for _, row in rows)


def test_only_cores_that_the_process_may_run_on_are_read(tmp_path: Path) -> None:
    lines = [f"cpu{i} {10 * i} 0 0 1 0 0 0 0 0 0" for i in range(8)]
    (tmp_path / "stat").write_text("\n".join(["cpu  280 0 0 8 0 0 0 0 0 0", *lines, "intr 1"]))
    counters = ProcCounters(tmp_path, cpus={2, 5})
    assert counters.cores == ("cpu2", "cpu5")
    assert counters.cpu_times() == ([70, 20, 50], [72, 21, 51])
    counters.close()


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 0.0),
        ("0::/a/b\n", {"cpu.max": "max 100000", "a/cpu.max": "400000 100000", "a/b/cpu.max": "max 100000"}, 4.0),
        ("0::/on/the/host\n", {"cpu.max": "200000 100000"}, 2.0),
        ("5:cpu,io:/c\n0::/\n", {"cpu,io/c/cpu.cfs_quota_us": "50000", "cpu,io/c/cpu.cfs_period_us": "100000"}, 0.5),
        ("5:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 0.0),
        ("5:memory:/c\n", {"memory/c/memory.limit_in_bytes": "4096", "memory/memory.limit_in_bytes": "8192"}, 4096),
        ("0::/a\n", {"memory.max": "2048\n", "a/memory.max": "max"}, 2048),
        ("nonsense", {}, 0.0),
        ("0::/\n", {"cpu.max": "x y z"}, 0.0),
    ],
)  # fmt: skip
def test_the_limit_of_a_container_is_the_smallest_of_its_groups(
    own: str, files: dict[str, str], expected: float, tmp_path: Path
) -> None:
    (tmp_path / "own").write_text(own)
    for name, text in files.items():
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text(text)
    limit = memory_limit if any("memory" in name for name in files) else cpu_quota
    assert limit(tmp_path / "root", tmp_path / "own") == expected
