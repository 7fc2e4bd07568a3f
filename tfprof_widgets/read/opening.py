"""A path or URL -> what to read: runs of hosts, steps of TensorFlow's first profiler, or one file."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EmptyTraceError, TraceError
from ..trace.building import merge_traces, other_times, with_host, with_warnings
from ..trace.capture_facts import GZIP
from ..trace.op_graph import OpGraph, merge_op_graphs
from ..trace.source_map import SourceMap, empty_source_map, merge_source_maps
from ..trace.trace import Trace
from .places import (
    CHROME_SUFFIXES,
    GRAPH_NAMES,
    OP_LOG_NAME,
    RUNS,
    SUFFIXES,
    check_filled,
    chrome_files,
    file_bytes,
    has_magic,
    head_of_file,
    host_of,
    is_url,
    kind_of_file,
    matches_of,
    place_of,
    printable,
    some_names,
    step_numbers,
    trace_files,
)
from .protobuf import STEP_KINDS, FileContent, FileKind
from .saved import SavedProfile, read_saved, read_sidecars, sidecars_of
from .xspace import read_xspace

if TYPE_CHECKING:
    from .v1.run_metadata import GraphNodes, StepStats

MOST_WHOLE = 16
"""A profile of up to so many hosts is read whole, a larger one reduced."""
_RUN_PATTERNS = ("plugins/profile/*", "profile/*", "*", "*/plugins/profile/*")
"""Where runs lie: below a logdir, its `plugins`, its `plugins/profile`, and below the parent of several logdirs."""
_HEAD_BYTES = 2**20
"""In so many bytes a timeline, which begins with all names, names its first process."""
_SHORT_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^/]")


@dataclass(frozen=True)
class Hosts:
    """The trace files of one run, by name; of one host each."""

    files: tuple[Path, ...]


@dataclass(frozen=True)
class Steps:
    """Files of TensorFlow's first profiler: timelines (`FileKind.JSON`), messages of steps, or profiles of tfprof."""

    kinds: Mapping[Path, FileKind]
    doubtful: tuple[Path, ...] = ()
    """Files that may or may not be timelines until they are read."""

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(self.kinds)


@dataclass(frozen=True)
class OneFile:
    """A file that was named itself, read by its content."""

    file: Path

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.file,)


@dataclass(frozen=True)
class Found:
    place: Path
    parts: tuple[Hosts | Steps | OneFile, ...]
    """What is read, a run each; at least one."""
    others: tuple[Path, ...] = ()
    """Other run directories of the same logdir, the newest first."""
    unread: tuple[Path, ...] = ()
    """Files of steps beside a run, which are not read with it."""
    saved: SavedProfile | None = field(default=None, repr=False)
    """What `Profile.save` put beside them."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All that is read, but for what lies beside."""
        return tuple(file for part in self.parts for file in part.files)

    @property
    def hosts(self) -> tuple[Path, ...]:
        """The same where each is a trace that can be read by itself; else nothing."""
        is_each = all(
            isinstance(part, Hosts)
            or (isinstance(part, OneFile) and part.file.name.endswith(SUFFIXES + CHROME_SUFFIXES))
            for part in self.parts
        )
        return self.files if is_each else ()

    @property
    def is_many(self) -> bool:
        """Whether there are too many hosts to read them whole: files of one name in several runs are windows of one capture."""
        return len({file.name for file in self.hosts}) > MOST_WHOLE

    @cached_property
    def sidecars(self) -> dict[Path, tuple[Path, ...]]:
        """The source map of each directory of the files."""
        return {run: tuple(sidecars_of(run)) for run in dict.fromkeys(file.parent for file in self.files)}

    @property
    def told(self) -> str:
        """A notice of files that are not read; "" for none."""
        if not self.unread:
            return ""
        return (
            f"{printable(str(self.place))} also holds files of TensorFlow's first profiler, which were not read: "
            f"{some_names([file.name for file in self.unread])}. Load one of them, or a pattern that matches them."
        )


def find(path: str | os.PathLike[str]) -> Found:
    """Look up what a path, a URL, or a pattern of either leads to; `open_traces` says what it may be."""
    place = place_of(path, is_fresh=True)
    try:
        if place.is_dir():
            return _in_directory(place)
        if place.exists():
            return Found(place, (OneFile(place),))
        if has_magic(place):
            return Found(place, _matched(place))
    except OSError as error:
        raise unreadable(place, error) from error
    raise TraceError(_missing(place))


def unreadable(place: Path, error: OSError) -> TraceError:
    """The message for a file or directory that the system does not give out."""
    return TraceError(
        f"{error.filename or place} cannot be read: {error.strerror or error}. Check the path and its permissions."
    )


def _in_directory(place: Path) -> Found:
    if (saved := read_saved(place)) is not None and saved.runs:
        return Found(place, tuple(_saved_run(place, place / RUNS / name) for name in saved.runs), saved=saved)
    runs, others = _newest_runs(place)
    steps = _steps_in(place)
    if runs:
        return Found(place, tuple(map(Hosts, runs)), others, unread=tuple(steps))
    if steps:
        return Found(place, (Steps(steps),))
    raise EmptyTraceError(
        f"{place} holds no trace: no *.xplane.pb in it or in its plugins/profile/*, and no timeline, RunMetadata or "
        f"ProfileProto in it. {_contents(place)} "
        "Capture one, or give another directory."
    )


def _saved_run(place: Path, run: Path) -> Hosts | Steps | OneFile:
    if files := trace_files(run):
        return Hosts(files)
    steps = _steps_among(_steps_in(run)) if run.is_dir() else {}
    files = chrome_files(run)
    if len(files) == 1 and set(steps.values()) <= {FileKind.JSON}:
        return OneFile(files[0])
    if steps:
        return Steps(steps)
    if not files:
        raise TraceError(f"{run} holds no trace, though {place} was saved with it. Save or copy the profile again.")
    return Hosts(files)


def _newest_runs(place: Path) -> tuple[tuple[tuple[Path, ...], ...], tuple[Path, ...]]:
    """The trace files of a directory that is a run, or else of each window of the newest capture below it; and the other runs."""
    if files := trace_files(place):
        return (files,), ()
    below = dict.fromkeys(run for pattern in _RUN_PATTERNS for run in place.glob(pattern))
    files_of = {run: files for run in below if (files := trace_files(run))}
    first, *rest = sorted(files_of, key=lambda run: _started(run, files_of[run]), reverse=True) or [place]
    windows = [run for run in files_of if _window(run)[0] == _window(first)[0]]
    return (
        tuple(files_of[run] for run in sorted(windows, key=lambda run: _window(run)[1])),
        tuple(run for run in rest if run not in windows),
    )


def _window(run: Path) -> tuple[Path, int]:
    """The capture of a run, by its first window's name, and its number among windows: `X`, `X.w2`, `X.w3`."""
    first, _, number = run.name.rpartition(".w")
    return (run.with_name(first), int(number)) if first and number.isdecimal() else (run, 1)


def _started(run: Path, files: Iterable[Path]) -> tuple[float, str]:
    """When a run started, by TensorFlow's name for it, else by when its files were written."""
    try:
        return time.mktime(time.strptime(_window(run)[0].name, "%Y_%m_%d_%H_%M_%S")), run.name
    except (ValueError, OverflowError):
        return max(file.stat().st_mtime for file in files), run.name


def _matched(pattern: Path) -> tuple[Hosts | Steps, ...]:
    matches = matches_of(pattern)
    names = SUFFIXES + CHROME_SUFFIXES if str(pattern).endswith(CHROME_SUFFIXES) else SUFFIXES
    direct = [match for match in matches if match.name.endswith(names) and match.is_file()]
    below = [file for match in matches for file in trace_files(match)]
    files = tuple(dict.fromkeys(direct + below))
    may_be_steps = all(file.name.endswith(CHROME_SUFFIXES) for file in files)
    if may_be_steps and (steps := _steps_among(matches)):
        doubtful = tuple(file for file in files if file not in steps)
        return (Steps({**steps, **dict.fromkeys(doubtful, FileKind.JSON)}, doubtful),)
    if not files:
        what = f"no *.xplane.pb among what it matches, {len(matches)} in all" if matches else "it matches nothing"
        raise TraceError(f"No trace at {pattern}: {what}. Check the pattern.")
    runs: dict[Path, list[Path]] = {}
    for file in files:
        runs.setdefault(file.parent, []).append(file)
    return tuple(Hosts(tuple(own)) for own in runs.values())


def _steps_in(directory: Path) -> dict[Path, FileKind]:
    """The files of steps directly in a directory, by name, with their kinds by first bytes."""
    found: dict[Path, FileKind] = {}
    for file in sorted(directory.iterdir()):
        # Where there is a trace that is called so it is read, and this is not.
        if file.name.startswith("tfprof.") or file.name.endswith(SUFFIXES) or file.name in (*GRAPH_NAMES, OP_LOG_NAME):
            continue
        if not file.is_file():
            continue
        if (kind := _kind_of(file)) in STEP_KINDS:
            found[file] = kind
        elif _is_called_timeline(file):
            found[file] = FileKind.JSON
    return found


def _steps_among(matches: Iterable[Path]) -> dict[Path, FileKind]:
    """Files of steps among matches of a pattern and in matched directories; `timeline*.json*` counts where one file is one."""
    found: dict[Path, FileKind] = {}
    called: list[Path] = []
    has_timelines = False
    for match in matches:
        if match.is_dir():
            found |= _steps_in(match)
        elif not match.is_file():
            continue
        elif (kind := _kind_of(match)) in STEP_KINDS:
            found[match] = kind
        elif kind is FileKind.JSON and _begins_a_timeline(match):
            found[match], has_timelines = kind, True
        elif _is_called_timeline(match):
            called.append(match)
    if not has_timelines:
        return found
    known = found | dict.fromkeys(called, FileKind.JSON)
    return {match: known[match] for match in sorted(known)}


def _kind_of(file: Path) -> FileKind:
    try:
        return kind_of_file(file)
    except OSError:  # who reads it is told
        return FileKind.UNKNOWN


def _is_called_timeline(file: Path) -> bool:
    return file.name.startswith("timeline") and ".json" in file.name


def _begins_a_timeline(file: Path) -> bool:
    from .v1.timeline_json import is_timeline

    head = head_of_file(file, _HEAD_BYTES)
    return head is not None and is_timeline(head)


def _missing(place: Path) -> str:
    if is_url(place):
        if place.parent.is_dir():
            return f"Nothing is at {place}. What is at {place.parent}: {_contents(place.parent)} Check the address."
        return f"Nothing is at {place}, and nothing is listed at {place.parent}. Check the address."
    parent = next(parent for parent in place.absolute().parents if parent.is_dir())
    hint = " Give a URL as text: a Path makes one slash of two." if _SHORT_URL.match(str(place)) else ""
    return f"Nothing is at {place}. The nearest directory that exists is {parent}. {_contents(parent)} Check the path.{hint}"


def _contents(directory: Path) -> str:
    """A sentence that names some of what a directory holds."""
    try:
        names: Sequence[str] = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in directory.iterdir())
    except OSError:
        return "It cannot be read."
    return f"It holds {some_names(names)}." if names else "It is empty."


@dataclass(frozen=True)
class Opened:
    trace: Trace
    paths: tuple[Path, ...]
    others: tuple[Path, ...] = ()
    """Other run directories of the same logdir, the newest first."""
    source_map: SourceMap = field(default_factory=empty_source_map)
    """Empty for traces of other tools; its warnings are the trace's, too."""
    saved: SavedProfile | None = None
    """What `Profile.save` or `Profile.to_chrome_trace` put beside the events; None for anything else."""
    stamps: tuple[tuple[int, int], ...] = ()
    """`stamp_of` each file when it was read."""
    op_graph: OpGraph | None = None
    """What a file of TensorFlow's first profiler holds besides the trace; None for all others."""
    companions: tuple[Path, ...] = ()
    """The graph and the log of ops that such files were read with."""
    left_out: tuple[Path, ...] = ()
    """Files that the trace leaves out, as they are of another time; its first warning names them."""


def stamp_of(file: Path) -> tuple[int, int]:
    """Size and time of a file, which differ from one content to the next."""
    status = file.stat()
    return status.st_size, status.st_mtime_ns


MOST_FILES = 2000
_N_SHOWN = 3
_RUN = FileKind.RUN_METADATA.value

ReadBytes = Callable[[Path], bytes]


def read_step_files(steps: Steps, *, graph: Path | None = None, read: ReadBytes = file_bytes) -> Opened:
    """Read files of one kind; each once, one after the other; of more than `MOST_FILES` the last steps of each directory."""
    from .v1.op_graph import op_graph_of, read_profile_proto
    from .v1.run_metadata import read_op_log
    from .v1.run_metadata_trace import LOCAL_HOST, step_trace, trace_of

    mixed: dict[str, list[Path]] = {}
    for file, kind in steps.kinds.items():
        mixed.setdefault(_RUN if kind is FileKind.STEP_STATS else kind.value, []).append(file)
    if len(mixed) > 1:
        raise _of_several_kinds(mixed)
    files = _last_steps(steps.files)
    n_given = len(steps.kinds)
    cut = [f"{len(files)} of {n_given} files of steps are shown: the last ones."] if len(files) < n_given else []
    if steps.kinds[files[0]] is FileKind.PROFILE:
        op_graph = merge_op_graphs([read_profile_proto(read(file), source=str(file)) for file in files])
        return Opened(with_warnings(trace_of(op_graph), *cut), tuple(files), op_graph=op_graph)
    parts: list[StepStats] = []
    traces: list[Trace] = []
    directories = list(dict.fromkeys(file.parent for file in files))
    for directory in directories:
        stats = _read_stats([file for file in files if file.parent == directory], steps, read)
        parts.append(stats)
        trace = step_trace(stats)
        is_local = {session.host for session in trace.sessions} == {LOCAL_HOST}
        traces.append(with_host(trace, directory.absolute().name) if is_local and len(directories) > 1 else trace)
    together = _together(parts)
    nodes, companions, warnings = _companions(directories, together, graph, read)
    log_file = next((one for d in directories if (one := d / OP_LOG_NAME).is_file()), None)
    log = read_op_log(read(log_file) if log_file else None, source=str(log_file))
    return Opened(
        with_warnings(merge_traces(traces), *cut, *warnings),
        tuple(files),
        op_graph=op_graph_of(together, nodes, log),
        companions=(*companions, log_file) if log_file else companions,
    )


def _last_steps(files: Sequence[Path]) -> Sequence[Path]:
    """As many of the files as are read, of each directory the same number."""
    if len(files) <= MOST_FILES:
        return files
    by_directory: dict[Path, list[Path]] = {}
    for file in files:
        by_directory.setdefault(file.parent, []).append(file)
    most = max(1, MOST_FILES // len(by_directory))
    kept: list[Path] = []
    for own in by_directory.values():
        kept += [file for _, file in sorted(zip(step_numbers(own), own, strict=True))[-most:]]
    return kept[:MOST_FILES]


def _of_several_kinds(mixed: Mapping[str, Sequence[Path]]) -> TraceError:
    told = [f"{some_names([file.name for file in files], _N_SHOWN)} ({kind})" for kind, files in mixed.items()]
    parent = next(iter(mixed.values()))[0].parent
    return TraceError(
        f"{parent} holds files of several kinds: {'; '.join(told)}. Give a glob that matches files of one kind."
    )


def _read_stats(files: Sequence[Path], steps: Steps, read: ReadBytes) -> StepStats:
    from .v1.run_metadata import read_step_stats
    from .v1.timeline_json import NotATimelineError, read_timelines

    numbered = sorted(zip(step_numbers(files), files, strict=True))
    if steps.kinds[files[0]] is not FileKind.JSON:
        return _together([read_step_stats({step: read(file)}, source=str(file)) for step, file in numbered])
    found = []
    for step, file in numbered:
        try:
            found.append(read_timelines({step: (str(file), read(file))}))
        except NotATimelineError as error:
            if file not in steps.doubtful:
                raise
            sure = [one for one in steps.files if one not in steps.doubtful]
            raise _of_several_kinds({"timelines of TensorFlow": sure, "another Chrome trace": [file]}) from error
    return _together(found)


def _together(parts: Sequence[StepStats]) -> StepStats:
    from .v1.run_metadata import StepStats

    found = StepStats()
    for part in parts:
        found.executions.extend(part.executions)
        found.steps.extend(part.steps)
        found.thread_names.update(part.thread_names)
        found.partitions.extend(part.partitions)
        found.tensors.extend(part.tensors)
        found.counters.extend(part.counters)
        found.warnings.extend(part.warnings)
    return found


def _companions(
    directories: Sequence[Path], stats: StepStats, graph: Path | None, read: ReadBytes
) -> tuple[GraphNodes | None, tuple[Path, ...], list[str]]:
    """The nodes of the program's graph if known, their file, and warnings."""
    from .v1.run_metadata import graph_nodes, read_graph_def

    warnings = []
    if graph is not None:
        nodes = read_graph_def(read(graph), source=str(graph))
        if not _names_what_ran(nodes, stats):
            warnings.append(f"The graph {graph} names nothing of what ran: it is of another program.")
        return nodes, (graph,), warnings
    for file in (directory / name for directory in directories for name in GRAPH_NAMES):
        if not file.is_file():
            continue
        try:
            nodes = read_graph_def(read(file), source=str(file))
        except TraceError as error:  # nobody asked for this file
            warnings.append(f"{error} It was left out.")
            continue
        if _names_what_ran(nodes, stats):
            return nodes, (file,), warnings
        warnings.append(f"{file} names nothing of what ran: it was left out.")
    return graph_nodes(stats.partitions) if stats.partitions else None, (), warnings


def _names_what_ran(graph: GraphNodes, stats: StepStats) -> bool:
    return any(one.name in graph for one in stats.executions)


MOST_NAMED = 20
"""Failed hosts that a notice names."""


@dataclass(frozen=True)
class FailedHost:
    """A file of which nothing can be shown, or a worker that sent none."""

    host: str
    """Its file's name, or the worker's address."""
    reason: str


def failure_notice(failed: Sequence[FailedHost], n_all: int) -> str:
    """One sentence that counts and names those of `n_all` hosts that failed."""
    return f"{len(failed):,} of {n_all:,} hosts could not be read: {named_reasons(failed)}"


def named_reasons(failed: Sequence[FailedHost]) -> str:
    """Each with its reason, as far as they can be named, and of how many; ends with a full stop."""
    named = "; ".join(f"{one.host}: {one.reason.rstrip('.')}" for one in failed[:MOST_NAMED])
    more = f"; and {len(failed) - MOST_NAMED:,} more of {len(failed):,}" if len(failed) > MOST_NAMED else ""
    return f"{named}{more}."


def each_once(files: Sequence[Path], read: Callable[[Path], Trace]) -> tuple[dict[Path, Trace], str]:
    """Read files, and let go of each trace that was there before: the same events at the same times of one host."""
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
    FileKind.GRAPH: ", which says nothing of times. Load the RunMetadata of a run, and give this file as graph=.",
    FileKind.OP_LOG: f", which says nothing of times. Load the RunMetadata of a run with this file as {OP_LOG_NAME} beside it.",
    FileKind.ZIP: ": unpack it, and load what is in it.",
    FileKind.LFS_POINTER: ", in place of the file itself: `git lfs pull` gets that.",
    FileKind.PPROF: ", such as `jax.profiler.save_device_memory_profile` writes: open it with `go tool pprof`.",
}


def open_runs_of_hosts(runs: Sequence[Sequence[Path]]) -> Opened:
    """The files of some runs, merged, without those of another time than most."""
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
    hosts = {session.host for trace in traces for session in trace.sessions}
    if len(hosts) < len(traces):
        traces = [with_host(trace, host_of(file)) for trace, file in zip(traces, files, strict=True)]
    return merge_traces(traces)


def _names_of(files: Sequence[Path]) -> list[str]:
    """A name for each file: the host, after the run where several have files of one host."""
    names = [host_of(file) for file in files]
    if len(set(names)) == len(names):
        return names
    return [f"{file.parent.name}/{name}" for file, name in zip(files, names, strict=True)]


def open_file(file: Path, graph: Path | None = None) -> Opened:
    if file.name.endswith(CHROME_SUFFIXES):
        return _open_chrome(file, graph)
    kind = kind_of_file(file)
    if kind in STEP_KINDS:
        return read_step_files(Steps({file: kind}), graph=graph)
    if kind in _REMEDIES:
        raise TraceError(f"{file} is {kind.value}{_REMEDIES[kind]}")
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
    from .chrome import read_chrome_trace
    from .chrome_json import has_marker
    from .v1.timeline_json import NotATimelineError, is_timeline

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


def open_traces(path: str | os.PathLike[str], *, graph: str | os.PathLike[str] | None = None) -> Opened:
    return open_found(find(path), graph=graph)


def open_found(found: Found, *, graph: str | os.PathLike[str] | None = None) -> Opened:
    """Open what was found; as `open_traces`."""
    program = None if graph is None else place_of(graph)
    try:
        if program is not None and not program.is_file():
            what = "is a directory, not a file" if program.is_dir() else "does not exist"
            raise TraceError(f"graph={str(program)!r} {what}. Give the file of a GraphDef, or none.")
        opened = replace(_opened(found.parts, program), others=found.others)
        opened = replace(opened, saved=found.saved or opened.saved, stamps=tuple(map(stamp_of, opened.paths)))
        shown = dict.fromkeys(path.parent for path in opened.paths if path not in opened.left_out)
        source_map = merge_source_maps([read_sidecars(found.sidecars[run]) for run in shown])
    except OSError as error:
        raise unreadable(found.place, error) from error
    warnings = [found.told] if found.told else []
    warnings += source_map.warnings
    if program is not None and program not in opened.companions:
        warnings.append(f"The graph {program} was not used: what was read is no RunMetadata and no timeline.")
    return replace(opened, trace=with_warnings(opened.trace, *warnings), source_map=source_map)


def _opened(parts: Sequence[Hosts | Steps | OneFile], graph: Path | None) -> Opened:
    if all(isinstance(part, Hosts) for part in parts):
        return open_runs_of_hosts([part.files for part in parts])
    opened = [_opened_part(part, graph) for part in parts]
    return opened[0] if len(opened) == 1 else merge_opened(opened)


def _opened_part(part: Hosts | Steps | OneFile, graph: Path | None) -> Opened:
    if isinstance(part, Steps):
        return read_step_files(part, graph=graph)
    return open_file(part.file, graph) if isinstance(part, OneFile) else open_runs_of_hosts([part.files])


def open_runs(run_dirs: Iterable[Path]) -> Opened:
    """Open several run directories, such as the windows of one capture, as one trace on one clock."""
    return merge_opened([open_traces(run_dir) for run_dir in run_dirs])


def merge_opened(opened: Sequence[Opened]) -> Opened:
    """What was opened one by one, on one clock; what was saved beside each, and what lies beside, is left aside."""
    graphs = [one.op_graph for one in opened if one.op_graph is not None]
    return Opened(
        merge_traces([one.trace for one in opened]),
        tuple(path for one in opened for path in one.paths),
        source_map=merge_source_maps([one.source_map for one in opened]),
        stamps=tuple(stamp for one in opened for stamp in one.stamps),
        op_graph=merge_op_graphs(graphs) if graphs else None,
        companions=tuple(file for one in opened for file in one.companions),
        left_out=tuple(file for one in opened for file in one.left_out),
    )


def open_host(file: Path, sidecars: Sequence[str] = ()) -> Opened:
    try:
        opened = open_file(file)
        source_map: SourceMap = read_sidecars([file.parent / name for name in sidecars])
        trace = with_warnings(opened.trace, *source_map.warnings)
        return replace(opened, trace=trace, source_map=source_map, stamps=tuple(map(stamp_of, opened.paths)))
    except OSError as error:
        raise unreadable(file, error) from error
