"""One file, told by its content, or the files of one run -> what they hold."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import TraceError
from ..formats.chrome.chrome_trace import read_chrome_trace
from ..formats.chrome.json_reader import has_marker
from ..formats.v1.timeline_json import NotATimelineError, is_timeline
from ..formats.wire.content import FileContent
from ..formats.wire.file_kind import STEP_KINDS, FileKind
from ..formats.xspace.xspace import read_xspace
from ..trace.bounds import GZIP
from ..trace.merging import merge_traces, with_host, with_warnings
from ..trace.one_time import other_times
from ..trace.trace import Trace
from .failed_hosts import FailedHost, failure_notice
from .file_content import check_filled, file_bytes, kind_of_file
from .file_names import CHROME_SUFFIXES, OP_LOG_NAME, SUFFIXES, host_of, some_names
from .found import Steps
from .opened import Opened
from .step_files import read_step_files


def each_once(files: Sequence[Path], read: Callable[[Path], Trace]) -> tuple[dict[Path, Trace], str]:
    """Read files, and let go of each trace that was there before: the same events at the same times of one host.

    Args:
        files: of one host each.
        read: reads one.

    Returns:
        The traces that differ, by file, and a sentence about the others; "" where there are none.
    """
    traces: dict[Path, Trace] = {}
    seen: set[tuple[str, bytes]] = set()
    copies = []
    for file in files:
        trace = read(file)
        capture = host_of(file), _digest(trace)
        if trace.n_events and capture in seen:
            copies.append(f"{file.parent.name}/{file.name}")
            continue
        seen.add(capture)
        traces[file] = trace
    if not copies:
        return traces, ""
    what = "is a copy" if len(copies) == 1 else "are copies"
    return traces, f"{len(copies):,} of {len(files):,} files {what} of another, and counted once: {some_names(copies)}."


def _digest(trace: Trace) -> bytes:
    told = hashlib.blake2b(repr((trace.origin_ns, trace.strings)).encode("utf-8", "backslashreplace"))
    for column in (trace.start_ps, trace.duration_ps, trace.name_id, trace.line_id):
        told.update(column.tobytes())
    return told.digest()


_EXPECTED = (
    "Expected: an XSpace, a Chrome trace or timeline (JSON), a RunMetadata, a StepStats or a ProfileProto of tfprof."
)
_REMEDIES = {
    FileKind.GRAPH: ", and give this file as graph=.",
    FileKind.OP_LOG: f" with this file as {OP_LOG_NAME} beside it.",
}


def open_runs_of_hosts(runs: Sequence[Sequence[Path]]) -> Opened:
    """The files of some runs, merged, without those of another time than most.

    Args:
        runs: the files of each run. Each file is a host of its own, even where two files of a run name the same one; a
            capture that is there twice counts once.
    """
    trace_of, told = each_once([file for run in runs for file in run], lambda file: open_file(file).trace)
    files = list(trace_of)
    reasons = other_times([trace.origin_ns for trace in trace_of.values()])
    left_out = tuple(files[number] for number in reasons)
    shown = [[file for file in run if file in trace_of and file not in left_out] for run in runs]
    merged = merge_traces([_merged(run, [trace_of[file] for file in run]) for run in shown if run])
    if reasons:
        names = _names_of(files)
        failed = [FailedHost(names[number], reason) for number, reason in reasons.items()]
        merged = replace(merged, warnings=(failure_notice(failed, len(files)), *merged.warnings))
    if told:
        merged = with_warnings(merged, told)
    return Opened(merged, tuple(files), left_out=left_out)


def _merged(files: Sequence[Path], traces: Sequence[Trace]) -> Trace:
    """The hosts of one run."""
    hosts = {session.host for trace in traces for session in trace.sessions}
    if len(hosts) < len(traces):
        traces = [with_host(trace, host_of(file)) for trace, file in zip(traces, files, strict=True)]
    return merge_traces(traces)


def _names_of(files: Sequence[Path]) -> list[str]:
    """What to call each file: the host, and before it the run where several have files of one host."""
    names = [host_of(file) for file in files]
    if len(set(names)) == len(names):
        return names
    return [f"{file.parent.name}/{name}" for file, name in zip(files, names, strict=True)]


def open_file(file: Path, graph: Path | None = None) -> Opened:
    """Open one file of any kind.

    Raises:
        TraceError: it is no trace, or a damaged one.
    """
    if file.name.endswith(CHROME_SUFFIXES):
        return _open_chrome(file, graph)
    kind = kind_of_file(file)
    if kind in STEP_KINDS:
        return read_step_files(Steps({file: kind}), graph=graph)
    if kind in _REMEDIES:
        raise TraceError(
            f"{file} is {kind.value}, which says nothing of times. Load the RunMetadata of a run{_REMEDIES[kind]}"
        )
    try:
        trace = _read_content(file)
    except TraceError as error:
        # Only now: the first two bytes of a good XSpace can be a line feed and a brace.
        if _looks_like_json(file):
            return _open_chrome(file, graph)
        if kind is FileKind.UNKNOWN and not file.name.endswith(SUFFIXES):
            raise type(error)(f"{error} {_EXPECTED}") from error.__cause__
        raise
    return Opened(_of_some_host(trace, file), (file,))


def _open_chrome(file: Path, graph: Path | None) -> Opened:
    """Open a file of JSON: a timeline, or any other Chrome trace."""
    content = file_bytes(file)
    if is_timeline(content) and not has_marker(content):
        try:
            steps = Steps({file: FileKind.JSON})
            return read_step_files(steps, graph=graph, read=lambda one: content if one == file else file_bytes(one))
        except NotATimelineError:
            pass  # other spans among those of a timeline: it is read as any Chrome trace
    chrome = read_chrome_trace(content, source=str(file))
    return Opened(_of_some_host(chrome.trace, file), (file,), saved=chrome.saved)


def _of_some_host(trace: Trace, file: Path) -> Trace:
    return trace if any(session.host for session in trace.sessions) else with_host(trace, host_of(file))


def _read_content(file: Path) -> Trace:
    """The trace of a file, read in pieces unless it must be unpacked first."""
    with FileContent(file) as content:
        if content.size and content.read(0, min(content.size, 2)) != GZIP:
            check_filled(file, content)
            return read_xspace(content, source=str(file))
    return read_xspace(file_bytes(file), source=str(file))


def _looks_like_json(file: Path) -> bool:
    return file_bytes(file)[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
