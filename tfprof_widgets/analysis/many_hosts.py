"""The files of many hosts -> one `Analysis`: each file is read and reduced in a process of its own."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, replace
from difflib import get_close_matches
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType, TracebackType
from typing import Any, Generic, TypeVar

import pandas as pd

from ..errors import TfProfError, TraceError
from ..read.opening import FailedHost, Found, Opened, failure_notice, find, open_host
from ..read.places import SUFFIXES, host_of, known_size, place_of, url_of, without_secrets
from ..read.saved import SIDECAR, read_sidecars
from ..trace.building import host_names, of_host, other_times, with_host
from ..trace.source_map import SourceMap
from .analysis import Analysis, merge_hosts
from .common import PS_PER_NS
from .hosts.clocks import with_clocks_shifted
from .summaries import HostSummary
from .summarizing import summarize_host

START_S = 5.0
"""What would take no longer than this in one process stays in it: two processes take 2 s to import what they need."""
FILE_S = 0.045
"""For each file, however small: measured with drawn hosts of 1 to 10 kB."""
BYTE_S = 0.15e-6
"""For each of its bytes: measured with a real trace of 3 MB."""
MOST_BYTES = 2**20
"""A larger file is never read in the calling process, which it could end: reading one of 3 MB took 20 MB of memory."""
_MOST_PROCESSES = 61
"""What Windows can wait for."""


class HostPool:
    """Starts processes where files are large enough; spawned, as a fork breaks threads of a kernel and of TensorFlow."""

    def __init__(self, n_files: int, *, can_leave: bool = True) -> None:
        self._n_files = n_files
        self.can_start = can_leave and _has_processes()
        self.n_processes = min(n_cpus(), n_files, _MOST_PROCESSES) if self.can_start else 1
        self._pool: Executor | None = None

    def is_worth_it(self, sizes: Iterable[int | None]) -> bool:
        """Whether reading the files here could end this process, or would take it longer than starting others for it."""
        if not self.can_start:
            return False
        seconds = self._n_files * FILE_S
        if self.n_processes > 1 and seconds > START_S:
            return True
        for n_bytes in sizes:
            if n_bytes is None or n_bytes > MOST_BYTES:
                return True
            seconds += n_bytes * BYTE_S
        return self.n_processes > 1 and seconds > START_S

    def executor(self, n_processes: int | None = None) -> Executor:
        """New processes, `n_processes` of them or as many as read at a time; they end with the `with` block or the next."""
        from concurrent.futures import ProcessPoolExecutor

        self._end(is_awaited=True)
        pool = ProcessPoolExecutor(n_processes or self.n_processes, mp_context=HostContext(), initializer=begin)
        self._pool = pool
        return pool

    def _end(self, *, is_awaited: bool) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=is_awaited, cancel_futures=True)

    def __enter__(self) -> HostPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end(is_awaited=error is None)  # after Ctrl-C each process still ends its file, but nobody waits for that


def n_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _has_processes() -> bool:
    """Whether this Python can start processes: a browser's cannot, and neither can a daemon of `multiprocessing`."""
    try:
        import multiprocessing
        import multiprocessing.synchronize
    except ImportError:
        return False
    return not multiprocessing.current_process().daemon


MOST_WAITING = 256
"""So many files are handed to an executor ahead of its results."""
_ENDED = "the process that read it ended early, and so did a second one: it may need more memory than there is"

File = TypeVar("File")
Outcome = TypeVar("Outcome")


class HostRuns(Generic[File, Outcome]):
    """What comes of each file, whoever runs it. A file that may have ended a process is never read in this one."""

    def __init__(
        self,
        function: Callable[[File], Outcome],
        files: Sequence[File],
        *,
        failed: Callable[[File, str], Outcome],
        on_done: Callable[[int], None],
    ) -> None:
        self._function, self._files, self._failed, self._on_done = function, files, failed, on_done
        self._done: dict[int, Outcome] = {}

    @property
    def left(self) -> list[int]:
        return [number for number in range(len(self._files)) if number not in self._done]

    @property
    def outcomes(self) -> list[Outcome]:
        """What came of each file, in their order, once none is left."""
        return [self._done[number] for number in range(len(self._files))]

    def here(self) -> None:
        for number in self.left:
            self._keep(number, self._function(self._files[number]))

    def by_executor(self, executor: Executor, pool: HostPool) -> str:
        """Run by an executor of the caller; what it leaves when it breaks, by processes of this machine."""
        error = self._send(self.left, executor, is_own=False)
        if error is None:
            return ""
        n_left, reason = len(self.left), f"{type(error).__name__}: {error}"
        if not pool.can_start:
            self._give_up(self.left, f"the executor ended early ({reason})")
            return ""
        told = (
            f"The executor ended early ({reason}); {n_left:,} of {len(self._files):,} hosts were read on this machine."
        )
        return f"{told} {self.by_processes(pool)}".rstrip()

    def by_processes(self, pool: HostPool) -> str:
        """Run by processes of this machine; what one that ends early may have been at runs once more, file by file."""
        n_again = 0
        while left := self.left:
            error = self._send(left, pool.executor(), is_own=True)
            if isinstance(error, OSError) and not n_again:
                n_left = len(self.left)
                self.here()
                return (
                    f"No process could be started to read hosts ({error}): "
                    f"{n_left:,} of {len(self._files):,} hosts were read in this one."
                )
            if error is not None:
                # They take files in order, so it was at one of the first that are not done; one more was on its way.
                again = self.left[: pool.n_processes + 1]
                n_again += len(again)
                self._one_by_one(again, pool)
        if not n_again:
            return ""
        return (
            "Processes that read hosts ended early; "
            f"{n_again:,} of {len(self._files):,} hosts were read once more, one at a time."
        )

    def _one_by_one(self, numbers: Iterable[int], pool: HostPool) -> None:
        """Run each file while its process does nothing else: who is at it when it ends has ended it."""
        executor: Executor | None = None
        for number in numbers:
            executor = executor or pool.executor(1)
            error = self._send([number], executor, is_own=True)
            if error is not None:
                self._give_up(
                    [number], _ENDED if isinstance(error, BrokenExecutor) else f"{type(error).__name__}: {error}"
                )
                executor = None

    def _send(self, numbers: Sequence[int], executor: Executor, *, is_own: bool) -> BrokenExecutor | OSError | None:
        """Run files, so many at a time; returns what the executor broke with. An `OSError` is that no process can start."""
        waiting: dict[Future[Outcome], int] = {}
        n_sent = 0
        try:
            while n_sent < len(numbers) or waiting:
                while n_sent < len(numbers) and len(waiting) < MOST_WAITING:
                    waiting[executor.submit(self._function, self._files[numbers[n_sent]])] = numbers[n_sent]
                    n_sent += 1
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    number = waiting.pop(future)
                    self._keep(number, self._outcome(future, self._files[number]))
        except (BrokenExecutor, OSError) as error:
            return error
        except BaseException:
            if not is_own:  # a pool of our own cancels them as it ends
                for future in waiting:
                    future.cancel()
            raise
        return None

    def _outcome(self, future: Future[Outcome], file: File) -> Outcome:
        try:
            return future.result()
        except BrokenExecutor:
            raise
        except Exception as error:  # what the executor has to say: a worker that was killed, a package that it lacks
            return self._failed(file, f"{type(error).__name__}: {error}")

    def _give_up(self, numbers: Iterable[int], reason: str) -> None:
        for number in numbers:
            self._keep(number, self._failed(self._files[number], reason))

    def _keep(self, number: int, outcome: Outcome) -> None:
        self._done[number] = outcome
        self._on_done(1)


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class HostFile:
    """Where the trace of one host is; can be pickled."""

    url: str
    """Path or URL, with its secrets."""
    sidecars: tuple[str, ...] = ()
    """Names of the source maps beside it that are about it."""


@dataclass(frozen=True)
class ReducedHosts:
    """What the files of many hosts hold."""

    results: Analysis
    files: dict[str, HostFile]
    """By name of the host where its trace is, in the order of the files."""
    notices: tuple[str, ...]
    """What could not be read, and other things to know; one sentence each."""
    n_failed: int = 0


def open_host_file(file: HostFile) -> Opened:
    return open_host(place_of(file.url), file.sidecars)


def reduce_file(file: HostFile) -> tuple[HostSummary, ...] | FailedHost:
    """Read, analyse and reduce one file; runs where a worker of an executor is."""
    try:
        opened = open_host_file(file)
        hosts = host_names(opened.trace)
        traces = [opened.trace] if len(hosts) < 2 else [of_host(opened.trace, host) for host in hosts]
        path = str(place_of(file.url))
        return tuple(summarize_host(Analysis(trace, opened.source_map), path=path) for trace in traces)
    except TfProfError as error:
        return FailedHost(_name_of(file), str(error))
    except Exception as error:  # one host of a thousand must not take the others away
        logger.debug("%s cannot be reduced", _name_of(file), exc_info=True)
        return _failed(file, f"{type(error).__name__}: {error}")


def host_file_list(found: Found) -> list[HostFile]:
    """The hosts that were found as tasks, each with the source maps beside it that are its own or its run's."""
    tasks = []
    for file in found.hosts:
        own = {SIDECAR, f"{host_of(file)}.{SIDECAR}"}
        tasks.append(HostFile(url_of(file), tuple(one.name for one in found.sidecars[file.parent] if one.name in own)))
    return tasks


def reduce_hosts(
    files: Sequence[HostFile], executor: Executor | None, on_done: Callable[[int], None] = lambda _: None
) -> ReducedHosts:
    notices: list[str] = []
    done = _reduced(files, executor, on_done, notices)
    failed = [one for one in done if isinstance(one, FailedHost)]
    if failed:
        told = failure_notice(failed, len(files))
        if len(failed) == len(files):
            raise TraceError(told)
        notices.append(told)
    found = [
        (file, one) for file, each in zip(files, done, strict=True) if not isinstance(each, FailedHost) for one in each
    ]
    summaries = _told_apart(found)
    where = {summary.host: file for summary, (file, _) in zip(summaries, found, strict=True)}
    return ReducedHosts(merge_hosts(summaries, source_map=_source_map(files)), where, tuple(notices), len(failed))


def _source_map(files: Sequence[HostFile]) -> SourceMap | None:
    """The source map of the program: all hosts run the same, so the first one serves."""
    noted = next((file for file in files if file.sidecars), None)
    return None if noted is None else read_sidecars([place_of(noted.url).parent / name for name in noted.sidecars])


def _reduced(
    files: Sequence[HostFile], executor: Executor | None, on_done: Callable[[int], None], notices: list[str]
) -> list[tuple[HostSummary, ...] | FailedHost]:
    runs = HostRuns(reduce_file, files, failed=_failed, on_done=on_done)
    told = ""
    with HostPool(len(files), can_leave=not any(file.url.startswith("memory://") for file in files)) as pool:
        if executor is not None:
            told = runs.by_executor(executor, pool)
        elif pool.is_worth_it(known_size(place_of(file.url)) for file in files):
            told = runs.by_processes(pool)
        else:
            runs.here()
    if told:
        notices.append(without_secrets(told))
    # Hosts of one file share a clock.
    origins = [0 if isinstance(one, FailedHost) else one[0].trace.origin_ns for one in runs.outcomes]
    kept = list(runs.outcomes)
    for number, reason in other_times(origins).items():
        kept[number] = _failed(files[number], reason)
    return kept


def _failed(file: HostFile, reason: str) -> FailedHost:

    return FailedHost(_name_of(file), without_secrets(reason, file.url))


def _name_of(file: HostFile) -> str:
    """The host that a file's name says wrote it."""
    return host_of(place_of(file.url))


def _told_apart(found: Sequence[tuple[HostFile, HostSummary]]) -> list[HostSummary]:
    """The same with a name of its own for each host: where two files name one host, all are named by their files."""
    summaries = [summary for _, summary in found]
    if len({one.host for one in summaries}) == len(summaries):
        return summaries
    of_file = Counter(file.url for file, _ in found)
    names = [one.host if of_file[file.url] > 1 else _name_of(file) for file, one in found]
    seen: Counter[str] = Counter()
    taken = set(names)
    result = []
    for one, name in zip(summaries, names, strict=True):
        seen[name] += 1
        own, n = name, seen[name]
        while n > 1 and (own := f"{name} ({n})") in taken:
            n += 1
        taken.add(own)
        result.append(one.renamed(own))
    return result


_lock = threading.Lock()
_CAN_BLOCK = hasattr(signal, "pthread_sigmask")
"""Not on Windows."""


class HostProcess(SpawnProcess):
    """A process that imports this package and not the main module, and for which Ctrl-C is nothing."""

    def start(self) -> None:
        with _no_main(), _no_interrupt():
            super().start()


class HostContext(SpawnContext):
    """What `multiprocessing` spawns such processes with."""

    Process = HostProcess


def begin() -> None:
    """Runs first in each process: Ctrl-C is for the one that asked, and this one ends when that one is gone."""
    import multiprocessing

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _CAN_BLOCK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def _no_main() -> Iterator[None]:
    """While starting, a module without name and file replaces the main module, which `multiprocessing` would run again."""
    main = sys.modules["__main__"]
    if getattr(main, "__file__", None) is None and getattr(main, "__spec__", None) is None:
        yield
        return
    with _lock:
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


@contextlib.contextmanager
def _no_interrupt() -> Iterator[None]:
    """What starts inside the `with` block is deaf to Ctrl-C until `begin` has it ignored: else its imports are interrupted."""
    if not _CAN_BLOCK:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_N_CLOSE = 3


def with_paths(hosts: pd.DataFrame, opened: Opened) -> pd.DataFrame:
    """The table of hosts with the first file of each as `path`."""
    paths = {host_of(path): str(path) for path in reversed(opened.paths)}
    only = str(opened.paths[0]) if len(opened.paths) == 1 else ""
    return hosts.assign(path=hosts["host"].map(lambda host: paths.get(host, only)))


def whole_host(opened: Opened, reduced: ReducedHosts | None, name: str) -> Opened | None:
    """One host in full; None where there is no other."""
    hosts = tuple(reduced.files) if reduced is not None else host_names(opened.trace)
    if name not in hosts:
        raise ValueError(_unknown(name, hosts))
    if reduced is not None:
        return _of_file(reduced.files[name], name)
    return None if len(hosts) == 1 else _part(opened, name)


def _of_file(file: HostFile, name: str) -> Opened:
    """The trace of a file, of the host that has this name in the whole profile."""
    opened = open_host_file(file)
    hosts = host_names(opened.trace)
    trace = of_host(opened.trace, name) if name in hosts else opened.trace
    return replace(opened, trace=trace if len(hosts) > 1 else with_host(trace, name))


def _part(opened: Opened, name: str) -> Opened:
    """What was opened of one host: its file once more, where one is called so, else its part of the trace."""
    own = [file for file in opened.paths if host_of(file) == name and file.name.endswith(SUFFIXES)]
    if len(own) == 1:
        return _of_file(host_file_list(find(own[0]))[0], name)
    return replace(opened, trace=of_host(opened.trace, name), others=(), saved=None)


def _unknown(name: str, hosts: tuple[str, ...]) -> str:
    close = get_close_matches(str(name), hosts, _N_CLOSE, cutoff=0.5)
    if close:
        return f"No host is called {name!r}. Is it {' or '.join(map(repr, close))}?"
    shown = ", ".join(map(repr, hosts[:_N_CLOSE]))
    more = f" and {len(hosts) - _N_CLOSE:,} more" if len(hosts) > _N_CLOSE else ""
    return f"No host is called {name!r}. The hosts are {shown}{more}."


def on_one_clock(
    opened: Opened, reduced: ReducedHosts | None, shift_ps: Mapping[str, int]
) -> tuple[Opened, ReducedHosts | None]:
    if reduced is None:
        return replace(opened, trace=with_clocks_shifted(opened.trace, shift_ps)), None
    moved = []
    for one in reduced.results.of_hosts.summaries:
        origin_ns = one.trace.origin_ns
        if origin_ns:
            origin_ns += round(shift_ps.get(one.host, 0) / PS_PER_NS)
        moved.append(replace(one, trace=replace(one.trace, origin_ns=origin_ns)))
    results = merge_hosts(moved, source_map=reduced.results.source_map)
    return replace(opened, trace=results.trace), replace(reduced, results=results)
