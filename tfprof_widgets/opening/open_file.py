"""One file, told by its content, or the files of one run -> what they hold."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import TraceError
from ..formats.chrome.chrome_trace import read_chrome_trace
from ..formats.chrome.json_reader import has_marker
from ..formats.sidecar import is_sidecar
from ..formats.v1.timeline_json import NotATimelineError, is_timeline
from ..formats.wire.content import FileContent
from ..formats.xspace.xspace import read_xspace
from ..trace.merging import merge_traces, with_host
from ..trace.one_time import other_times
from ..trace.trace import Trace
from .failed_hosts import FailedHost, failure_notice
from .file_bytes import file_bytes
from .file_kind import FileKind, kind_of_file
from .opened import Opened
from .step_files import OP_LOG_NAME, StepFiles, read_step_files

SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
CHROME_SUFFIXES = (".json", ".json.gz")
_EXPECTED = (
    "Expected: an XSpace, a Chrome trace or timeline (JSON), a RunMetadata, a StepStats or a ProfileProto of tfprof."
)


def trace_files(run: Path) -> tuple[Path, ...]:
    """The trace files directly in a directory, by name; empty where it is no run."""
    if not run.is_dir():
        return ()
    return tuple(sorted(file for file in run.iterdir() if file.name.endswith(SUFFIXES) and file.is_file()))


def chrome_files(run: Path) -> tuple[Path, ...]:
    """The Chrome traces directly in a directory, by name."""
    names = sorted(file for file in run.glob("*") if file.name.endswith(CHROME_SUFFIXES) and file.is_file())
    return tuple(file for file in names if not is_sidecar(file.name))


def open_steps(kinds: Mapping[Path, FileKind], graph: Path | None) -> Opened:
    """Open files of TensorFlow's first profiler, given the kind of each."""
    return _opened_steps(read_step_files(tuple(kinds), kinds, read=file_bytes, graph=graph))


def _opened_steps(read: StepFiles) -> Opened:
    return Opened(read.trace, read.files, op_graph=read.op_graph, companions=read.companions)


def open_run_files(runs: Sequence[Sequence[Path]], others: tuple[Path, ...] = ()) -> Opened:
    """The files of some runs, merged, without those of another time than most.

    Args:
        runs: the files of each run. Each file is a host of its own, even where two files of a run name the same one.
        others: run directories beside them.
    """
    files = [file for run in runs for file in run]
    traces = [_read_file(file) for file in files]
    reasons = other_times([trace.origin_ns for trace in traces])
    left_out = tuple(files[number] for number in reasons)
    trace_of = dict(zip(files, traces, strict=True))
    shown = [[file for file in run if file not in left_out] for run in runs]
    merged = merge_traces([_merged(run, [trace_of[file] for file in run]) for run in shown if run])
    if reasons:
        names = _names_of(files)
        failed = [FailedHost(names[number], reason) for number, reason in reasons.items()]
        merged = replace(merged, warnings=(failure_notice(failed, len(files)), *merged.warnings))
    return Opened(merged, tuple(files), others, left_out=left_out)


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


def _read_file(file: Path) -> Trace:
    return open_file(file, None).trace


def open_file(file: Path, graph: Path | None) -> Opened:
    """Open one file of any kind.

    Raises:
        TraceError: it is no trace, or a damaged one.
    """
    if file.name.endswith(CHROME_SUFFIXES):
        return open_chrome(file, graph)
    kind = kind_of_file(file)
    if kind in (FileKind.STEP, FileKind.PROFILE):
        return open_steps({file: kind}, graph)
    if kind in (FileKind.GRAPH, FileKind.OP_LOG):
        raise TraceError(
            f"{file} is {kind.value}, which says nothing of times. Load the RunMetadata of a run"
            + (
                ", and give this file as graph=."
                if kind is FileKind.GRAPH
                else f" with this file as {OP_LOG_NAME} beside it."
            )
        )
    try:
        trace = _read_content(file)
    except TraceError as error:
        # Only now: the first two bytes of a good XSpace can be a line feed and a brace.
        if _looks_like_json(file):
            return open_chrome(file, graph)
        if kind is FileKind.UNKNOWN and not file.name.endswith(SUFFIXES):
            raise type(error)(f"{error} {_EXPECTED}") from error.__cause__
        raise
    return Opened(_of_some_host(trace, file), (file,))


def open_chrome(file: Path, graph: Path | None) -> Opened:
    """Open a file of JSON: a timeline, or any other Chrome trace."""
    content = file_bytes(file)
    if is_timeline(content) and not has_marker(content):
        try:
            kinds = {file: FileKind.JSON}
            read = read_step_files(
                (file,), kinds, read=lambda one: content if one == file else file_bytes(one), graph=graph
            )
            return _opened_steps(read)
        except NotATimelineError:
            pass  # other spans among those of a timeline: it is read as any Chrome trace
    chrome = read_chrome_trace(content, source=str(file))
    return Opened(_of_some_host(chrome.trace, file), (file,), saved=chrome.saved)


def _of_some_host(trace: Trace, file: Path) -> Trace:
    return trace if any(session.host for session in trace.sessions) else with_host(trace, host_of(file))


def _read_content(file: Path) -> Trace:
    """The trace of a file, read in pieces unless it must be unpacked first."""
    with FileContent(file) as content:
        if content.size and content.read(0, min(content.size, 2)) != b"\x1f\x8b":
            return read_xspace(content, source=str(file))
    return read_xspace(file_bytes(file), source=str(file))


def _looks_like_json(file: Path) -> bool:
    return file_bytes(file)[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def host_of(file: Path) -> str:
    """The host that a file's name says wrote it."""
    name = printable(file.name)
    known = (*reversed(SUFFIXES), ".trace.json.gz", ".trace.json", *reversed(CHROME_SUFFIXES))
    return next((name.removesuffix(suffix) for suffix in known if name.endswith(suffix)), file.stem)


def printable(name: str) -> str:
    """A file's name as text that any file or browser can hold: bytes that are not UTF-8 become backslash escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
