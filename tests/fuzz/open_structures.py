"""Many directories of broken structure -> how many opened, what broke the rule, and the worst time and memory.

    python -m tests.fuzz.open_structures 200000 --seed 0 --processes 2

The rule: a `Profile` whose tables, summary, report and page can be asked for, or a `TfProfError`; never another exception or a
warning, nor more time and memory than the bytes allow.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import logging
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import tfprof_widgets as tfprof
from tests.fuzz.structures import Structure, steps_of_a_gpu, structure
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.export import Subject, profile_html, tables
from tfprof_widgets.profiles import Profile
from tfprof_widgets.show import Payload

MB = 1e6
FREE_BYTES, BYTES_PER_BYTE = 64 * 2**20, 60
"""How much memory a case may take, and how much more for each byte unpacked."""
FREE_S, S_PER_MB = 3.0, 0.5
"""How much time of a CPU, and how much more for each MB."""
MAX_BYTES = 3 * 2**30
MAX_SECONDS = 60
_CHUNK = 100
_SHOWN_EVERY = 10
"""Pages take as long as all tables."""


class TooSlowError(Exception):
    """A case took longer than it may."""


@dataclass
class Report:
    """What came of some cases."""

    n_cases: int = 0
    n_profiles: int = 0
    failures: list[str] = field(default_factory=list)
    worst_s: tuple[float, int, int] = (0.0, -1, 0)
    """Time, the case, and its bytes; of the case that is nearest to its limit."""
    worst_bytes: tuple[int, int, int] = (0, -1, 0)

    def add(self, other: Report) -> None:
        """Count those of another report, too."""
        self.n_cases += other.n_cases
        self.n_profiles += other.n_profiles
        self.failures += other.failures
        self.worst_s = max(self.worst_s, other.worst_s, key=_share_of_time)
        self.worst_bytes = max(self.worst_bytes, other.worst_bytes, key=_share_of_memory)

    def __str__(self) -> str:
        (seconds, slow, slow_bytes), (grown, large, large_bytes) = self.worst_s, self.worst_bytes
        return (
            f"{self.n_cases:,} cases, {self.n_profiles:,} profiles, {len(self.failures):,} failures; "
            f"slowest {seconds:.2f} s for {slow_bytes / MB:.3f} MB (case {slow}), "
            f"largest {grown / MB:.0f} MB for {large_bytes / MB:.3f} MB (case {large})"
        )


def _share_of_time(case: tuple[float, int, int]) -> float:
    return case[0] / (FREE_S + S_PER_MB * case[2] / MB)


def _share_of_memory(case: tuple[int, int, int]) -> float:
    return case[0] / (FREE_BYTES + BYTES_PER_BYTE * case[2])


def use(prof: Profile, *, is_shown: bool) -> None:
    """Ask for all that a profile tells."""
    repr(prof), prof.notices, prof.text().encode(), prof.report().encode()
    results = prof.run.results
    tables(results)
    assert getattr(results, "advice_notices", ()) == (), results.advice_notices
    if is_shown:
        Payload(results)
        profile_html(Subject(results=results, notices=prof.notices, since_last=prof.run.since_last)).encode()


def run_case(case: Structure, *, is_shown: bool) -> bool:
    """Whether a case opened."""
    with tempfile.TemporaryDirectory(prefix="tfprof-fuzz-") as directory:
        try:
            use(tfprof.load(case.write(Path(directory))), is_shown=is_shown)
        except TfProfError:
            return False
        return True


def run_cases(seed: int, numbers: Iterable[int]) -> Report:
    """Run some cases in this process."""
    report = Report()
    for number in numbers:
        case = structure(seed, number)
        before = _forget_peak()
        begin_s = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)  # of the CPU, as other processes may have it
        signal.alarm(10 * MAX_SECONDS)
        try:
            report.n_profiles += run_case(case, is_shown=number % _SHOWN_EVERY == 0)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            at = f"{Path(where.filename).name}:{where.lineno}"
            report.failures.append(f"case {number}: {type(error).__name__} at {at}: {error}"[:300])
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
        report.n_cases += 1
        seconds = time.process_time() - begin_s, number, case.n_bytes
        grown = _peak() - before, number, case.n_bytes
        for share, cost, what in (
            (_share_of_time(seconds), seconds[0], "s"),
            (_share_of_memory(grown), grown[0], "bytes"),
        ):
            if share > 1:
                report.failures.append(f"case {number}: {cost:,.1f} {what} for {case.n_bytes:,} bytes")
        report.worst_s = max(report.worst_s, seconds, key=_share_of_time)
        report.worst_bytes = max(report.worst_bytes, grown, key=_share_of_memory)
    return report


def _forget_peak() -> int:
    """How much memory the process has now, without what earlier cases left free; its peak counts from here."""
    with contextlib.suppress(AttributeError):  # of glibc alone
        ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def begin() -> None:
    """Import what cases need, and bound this process: what it has by then counts for no case."""
    warnings.simplefilter("error")
    logging.disable()
    run_case(Structure({"h.xplane.pb": steps_of_a_gpu()}, "h.xplane.pb"), is_shown=True)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MAX_BYTES, now + MAX_BYTES))
    signal.signal(signal.SIGPROF, _raise_too_slow)
    signal.signal(signal.SIGALRM, _raise_too_slow)


def _raise_too_slow(*_: object) -> None:
    raise TooSlowError(f"it takes more than {MAX_SECONDS} s")


def main(arguments: list[str]) -> int:
    """Run cases 0 to `n`, print what came of them, and return how many failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("n", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    report = Report()
    chunks = deque(range(low, min(low + _CHUNK, options.n)) for low in range(options.first, options.n, _CHUNK))
    while chunks:
        _run_chunks(report, chunks, options.seed, options.processes)
    sys.stdout.write(f"{report}\n")
    return len(report.failures)


def _run_chunks(report: Report, chunks: deque[range], seed: int, n_processes: int) -> None:
    """Run chunks until none is left or a process dies, which loses the first of those that are not done."""
    with ProcessPoolExecutor(n_processes, get_context("spawn"), initializer=begin) as pool:
        waiting: deque[Future[Report]] = deque()
        try:
            while chunks:
                while len(waiting) < min(2 * n_processes, len(chunks)):
                    waiting.append(pool.submit(run_cases, seed, chunks[len(waiting)]))
                _tell(report, waiting[0].result())
                waiting.popleft(), chunks.popleft()
        except BrokenProcessPool:
            numbers = chunks.popleft()
            lost = f"cases {numbers[0]} to {numbers[-1]}: their process died"
            _tell(report, Report(len(numbers), failures=[lost]))


def _tell(report: Report, part: Report) -> None:
    report.add(part)
    for failure in part.failures:
        sys.stdout.write(f"{failure}\n")
    if part.failures or report.n_cases % 1000 < part.n_cases:
        sys.stdout.write(f"{report}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
