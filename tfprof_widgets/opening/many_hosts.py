"""The files of many hosts -> one `ClusterResults`: each file is read and reduced where a worker of an executor runs."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from ..analysis.cluster.cluster_results import ClusterResults, merge_hosts
from ..analysis.cluster.host_summary import HostSummary, summarize_host
from ..analysis.results import Results
from ..errors import TfProfError, TraceError
from ..formats.sidecar import SIDECAR, read_sidecars
from ..trace.one_host import host_names, of_host
from ..trace.one_time import other_times
from ..trace.source_map import SourceMap
from .failed_hosts import FailedHost, failure_notice
from .file_content import known_size
from .file_names import host_of
from .found import Found
from .host_pool import HostPool
from .host_runs import HostRuns
from .open import open_host
from .opened import Opened
from .places import place_of, url_of
from .url_files import without_secrets

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

    results: ClusterResults
    files: dict[str, HostFile]
    """By name of the host where its trace is, in the order of the files."""
    notices: tuple[str, ...]
    """What could not be read, and other things to know; one sentence each."""
    n_failed: int = 0
    """How many files could not be read."""


def open_host_file(file: HostFile) -> Opened:
    """Open the whole trace of one host.

    Raises:
        TraceError: it cannot be read.
    """
    return open_host(place_of(file.url), file.sidecars)


def reduce_file(file: HostFile) -> tuple[HostSummary, ...] | FailedHost:
    """Read, analyse and reduce one file; runs where a worker of an executor is.

    Returns:
        A summary of each host in the file, which is one but for traces that were merged before; or why there is none.
    """
    try:
        opened = open_host_file(file)
        hosts = host_names(opened.trace)
        traces = [opened.trace] if len(hosts) < 2 else [of_host(opened.trace, host) for host in hosts]
        path = str(place_of(file.url))
        return tuple(summarize_host(Results(trace, opened.source_map), path=path) for trace in traces)
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
    """Reduce all files and merge what comes of them.

    Args:
        files: of one host each. The result does not depend on which is done first.
        executor: runs `reduce_file`; None for processes of this machine, see `host_pool`.
        on_done: is told how many files more are done.

    Raises:
        TraceError: no file could be read; the message has the reasons.
    """
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
    """What was noted of the program: all hosts run the same, so the first note of it tells."""
    noted = next((file for file in files if file.sidecars), None)
    return None if noted is None else read_sidecars([place_of(noted.url).parent / name for name in noted.sidecars])


def _reduced(
    files: Sequence[HostFile], executor: Executor | None, on_done: Callable[[int], None], notices: list[str]
) -> list[tuple[HostSummary, ...] | FailedHost]:
    """What comes of each file, in their order."""
    runs = HostRuns(reduce_file, files, failed=_failed, on_done=on_done)
    told = ""
    with HostPool(len(files), can_leave=all(map(_is_shared, files))) as pool:
        if executor is not None:
            told = runs.by_executor(executor, pool)
        elif pool.is_worth_it(known_size(place_of(file.url)) for file in files):
            told = runs.by_processes(pool)
        else:
            runs.here()
    if told:
        notices.append(without_secrets(told))
    return _of_one_time(files, runs.outcomes)


def _is_shared(file: HostFile) -> bool:
    return not file.url.startswith("memory://")


def _failed(file: HostFile, reason: str) -> FailedHost:

    return FailedHost(_name_of(file), without_secrets(reason, file.url))


def _of_one_time(
    files: Sequence[HostFile], done: Sequence[tuple[HostSummary, ...] | FailedHost]
) -> list[tuple[HostSummary, ...] | FailedHost]:
    """The same without files of another time than most, which cannot be shown beside them."""
    # Hosts of one file share a clock.
    origins = [0 if isinstance(one, FailedHost) else one[0].trace.origin_ns for one in done]
    kept = list(done)
    for number, reason in other_times(origins).items():
        kept[number] = _failed(files[number], reason)
    return kept


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
