"""A path (file, run directory, logdir, saved profile or glob) -> the trace in it, and the other runs beside it."""

from __future__ import annotations

import glob
import os
import time
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import EmptyTraceError, TraceError
from .chrome_trace import read_chrome_trace
from .file_content import FileContent
from .merge import merge_traces, with_host
from .saved import SavedProfile, read_saved
from .source_map import SIDECAR, SourceMap, empty_source_map, merge_source_maps, read_source_map
from .trace import Trace
from .xspace import read_xspace

SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
CHROME_SUFFIXES = (".json", ".json.gz")
RUNS = Path("plugins") / "profile"
"""Where TensorBoard looks for runs below a log directory."""
MAX_UNPACKED_BYTES = 512 * 2**20
"""How large a compressed trace may become."""
_RUN_PATTERNS = ("plugins/profile/*", "profile/*", "*", "*/plugins/profile/*")
"""Where runs lie: below a logdir, its `plugins`, its `plugins/profile`, and below the parent of several logdirs."""
_N_SHOWN = 5


@dataclass(frozen=True)
class Opened:
    """What a path led to."""

    trace: Trace
    paths: tuple[Path, ...]
    """The files that were read."""
    others: tuple[Path, ...] = ()
    """Run directories of the same logdir that were not read, the newest first."""
    source_map: SourceMap = field(default_factory=empty_source_map)
    """What was noted beside the traces; empty for traces that other tools captured. Its warnings are the trace's too."""
    saved: SavedProfile | None = None
    """What `Profile.save` or `Profile.to_chrome_trace` put beside the events; None for anything else."""
    stamps: tuple[tuple[int, int], ...] = ()
    """`stamp_of` each file when it was read."""


def stamp_of(file: Path) -> tuple[int, int]:
    """What tells one content of a file from the next: its size, and when it was written."""
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def open_traces(path: str | os.PathLike[str]) -> Opened:
    """Open what `path` names.

    Args:
        path: an `*.xplane.pb` or `*.xplane.pb.gz` file; a Chrome trace (`*.json`, `*.json.gz`); a run directory (all its
            hosts are merged); a logdir (its newest run is read, the others are listed; of a directory that
            `Profile.save` wrote all runs are read); or a glob of files and run directories (all are merged).

    Raises:
        EmptyTraceError: the directory holds no trace, or a file is empty.
        TraceError: nothing is there, or a file is no trace; the message says what is there instead.
    """
    place = Path(path).expanduser()
    text = str(place)
    try:
        if place.is_dir():
            return _with_sources(_open_directory(place))
        if place.exists():
            return _with_sources(_open_file(place))
        if glob.has_magic(text):
            return _with_sources(_open_glob(text))
    except OSError as error:
        raise TraceError(
            f"{text} cannot be read: {error.strerror or error}. Check the path and its permissions."
        ) from error
    raise TraceError(_missing(place))


def open_runs(run_dirs: Iterable[Path]) -> Opened:
    """Open several run directories, such as the windows of one capture, as one trace on one clock.

    Raises:
        TraceError: as `open_traces`.
    """
    opened = [open_traces(run_dir) for run_dir in run_dirs]
    return Opened(
        merge_traces([run.trace for run in opened]),
        tuple(path for run in opened for path in run.paths),
        source_map=merge_source_maps([run.source_map for run in opened]),
        stamps=tuple(stamp for run in opened for stamp in run.stamps),
    )


def _with_sources(opened: Opened) -> Opened:
    """The same with the stamps of its files and the source maps beside them, each run's once."""
    opened = replace(opened, stamps=tuple(map(stamp_of, opened.paths)))
    runs = dict.fromkeys(path.parent for path in opened.paths)
    source_map = merge_source_maps([read_source_map(run) for run in runs])
    if not source_map.warnings:
        return replace(opened, source_map=source_map)
    trace = replace(opened.trace, warnings=(*opened.trace.warnings, *source_map.warnings))
    return replace(opened, trace=trace, source_map=source_map)


def _open_directory(place: Path) -> Opened:
    if (saved := read_saved(place)) is not None and saved.runs:
        return _open_saved(place, saved)
    files = trace_files(place)
    if files:
        return Opened(_read_run(files), files)
    runs = newest_first(run for pattern in _RUN_PATTERNS for run in place.glob(pattern))
    if not runs:
        raise EmptyTraceError(
            f"{place} holds no trace: no *.xplane.pb in it or in its plugins/profile/*. {_contents(place)} "
            "Capture one, or give another directory."
        )
    files = trace_files(runs[0])
    return Opened(_read_run(files), files, runs[1:])


def _open_saved(place: Path, saved: SavedProfile) -> Opened:
    """The runs of a saved profile, and what was saved beside them."""
    parts = []
    for run in (place / RUNS / name for name in saved.runs):
        files = trace_files(run) or _chrome_files(run)
        if not files:
            raise TraceError(f"{run} holds no trace, though {place} was saved with it. Save or copy the profile again.")
        parts.append(Opened(_read_run(files), files))
    trace = merge_traces([part.trace for part in parts])
    return Opened(trace, tuple(file for part in parts for file in part.paths), saved=saved)


def _open_glob(pattern: str) -> Opened:
    matches = sorted(Path(match) for match in glob.glob(pattern, recursive=True))  # noqa: PTH207 - absolute patterns too
    directories = [match for match in matches if match.is_dir()]
    names = SUFFIXES + CHROME_SUFFIXES if pattern.endswith(CHROME_SUFFIXES) else SUFFIXES
    files = [match for match in matches if match.name.endswith(names) and match.is_file()]
    files = list(dict.fromkeys(files + [file for run in directories for file in trace_files(run)]))
    if not files:
        what = f"no *.xplane.pb among what it matches, {len(matches)} in all" if matches else "it matches nothing"
        raise TraceError(f"No trace at {pattern}: {what}. Check the pattern.")
    runs = [
        [file for file in files if file.parent == parent] for parent in dict.fromkeys(file.parent for file in files)
    ]
    return Opened(merge_traces([_read_run(run) for run in runs]), tuple(files))


def trace_files(run: Path) -> tuple[Path, ...]:
    """The trace files directly in a directory, by name; empty where it is no run."""
    if not run.is_dir():
        return ()
    return tuple(sorted(file for file in run.iterdir() if file.name.endswith(SUFFIXES) and file.is_file()))


def _chrome_files(run: Path) -> tuple[Path, ...]:
    """The Chrome traces directly in a directory, by name."""
    names = sorted(file for file in run.glob("*") if file.name.endswith(CHROME_SUFFIXES) and file.is_file())
    return tuple(file for file in names if file.name != SIDECAR)


def newest_first(places: Iterable[Path]) -> tuple[Path, ...]:
    """Those of the directories that are runs, the newest first."""
    runs = [run for run in dict.fromkeys(places) if trace_files(run)]
    return tuple(sorted(runs, key=_started, reverse=True))


def _started(run: Path) -> tuple[float, str]:
    """When a run started: TensorFlow names it so; of a directory renamed since, when its files were written."""
    try:
        return time.mktime(time.strptime(run.name, "%Y_%m_%d_%H_%M_%S")), run.name
    except (ValueError, OverflowError):
        return max(file.stat().st_mtime for file in trace_files(run)), run.name


def _read_run(files: Sequence[Path]) -> Trace:
    """The hosts of one run, merged. Each file is a host of its own, even where two files name the same one."""
    traces = [_read_file(file) for file in files]
    hosts = {session.host for trace in traces for session in trace.sessions}
    if len(hosts) < len(traces):
        traces = [with_host(trace, _host_of(file)) for trace, file in zip(traces, files, strict=True)]
    return merge_traces(traces)


def _read_file(file: Path) -> Trace:
    return _open_file(file).trace


def _open_file(file: Path) -> Opened:
    if file.name.endswith(CHROME_SUFFIXES):
        return _open_chrome(file)
    try:
        trace = _read_content(file)
    except TraceError:
        # Only now: the first two bytes of a good XSpace can be a line feed and a brace.
        if _looks_like_json(file):
            return _open_chrome(file)
        raise
    return Opened(_of_some_host(trace, file), (file,))


def _open_chrome(file: Path) -> Opened:
    chrome = read_chrome_trace(_content(file), source=str(file))
    return Opened(_of_some_host(chrome.trace, file), (file,), saved=chrome.saved)


def _of_some_host(trace: Trace, file: Path) -> Trace:
    return trace if any(session.host for session in trace.sessions) else with_host(trace, _host_of(file))


def _read_content(file: Path) -> Trace:
    """The trace of a file, read in pieces unless it must be unpacked first."""
    with FileContent(file) as content:
        if content.size and content.read(0, min(content.size, 2)) != b"\x1f\x8b":
            return read_xspace(content, source=str(file))
    return read_xspace(_content(file), source=str(file))


def _content(file: Path) -> bytes:
    """The bytes of a trace file, unpacked.

    Raises:
        TraceError: its compression is broken, or it unpacks to too much.
    """
    content = file.read_bytes()
    return _unpacked(content, file) if content.startswith(b"\x1f\x8b") else content


def _looks_like_json(file: Path) -> bool:
    return _content(file)[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def _unpacked(content: bytes, file: Path) -> bytes:
    parts, room, rest = [], MAX_UNPACKED_BYTES, content
    while rest:  # a file may be several gzip streams, one after the other
        unpacker = zlib.decompressobj(wbits=31)
        try:
            parts.append(unpacker.decompress(rest, room))
        except zlib.error as error:
            raise TraceError(f"{file} is not whole: {error}. Copy it again.") from error
        if unpacker.unconsumed_tail:
            raise TraceError(
                f"{file} unpacks to more than {MAX_UNPACKED_BYTES} bytes, the limit. Unpack it and load that."
            )
        if not unpacker.eof:
            raise TraceError(
                f"{file} is truncated: its {len(content)} bytes end inside the gzip stream. Copy it again."
            )
        room, rest = max(1, room - len(parts[-1])), unpacker.unused_data.lstrip(b"\0")  # tapes and disks pad with zeros
    return b"".join(parts)


def _host_of(file: Path) -> str:
    """The host that a file's name says wrote it."""
    name = printable(file.name)
    known = (*reversed(SUFFIXES), ".trace.json.gz", ".trace.json", *reversed(CHROME_SUFFIXES))
    return next((name.removesuffix(suffix) for suffix in known if name.endswith(suffix)), file.stem)


def printable(name: str) -> str:
    """A file's name as text that any file or browser can hold: bytes that are not UTF-8 become backslash escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _missing(place: Path) -> str:
    parent = next(parent for parent in place.absolute().parents if parent.is_dir())
    return f"Nothing is at {place}. The nearest directory that exists is {parent}. {_contents(parent)} Check the path."


def _contents(directory: Path) -> str:
    """A sentence that names some of what a directory holds."""
    try:
        names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in directory.iterdir())
    except OSError:
        return "It cannot be read."
    if not names:
        return "It is empty."
    more = f" and {len(names) - _N_SHOWN} more" if len(names) > _N_SHOWN else ""
    return f"It holds {', '.join(names[:_N_SHOWN])}{more}."
