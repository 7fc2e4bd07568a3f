"""A path or URL -> what to read: runs of hosts, steps of TensorFlow's first profiler, or one file. Nothing is read yet."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..errors import EmptyTraceError, TraceError
from ..formats.saved import SavedProfile, read_saved
from ..formats.sidecar import sidecars_of
from ..formats.v1.timeline_json import is_timeline
from ..formats.wire.file_kind import STEP_KINDS, FileKind
from .file_content import head_of_file, kind_of_file
from .file_names import (
    CHROME_SUFFIXES,
    GRAPH_NAMES,
    OP_LOG_NAME,
    RUNS,
    SUFFIXES,
    chrome_files,
    printable,
    some_names,
    trace_files,
)
from .places import has_magic, is_url, matches_of, place_of

MOST_WHOLE = 16
"""A profile of so many hosts is read whole, with all their events; one of more is reduced."""
_RUN_PATTERNS = ("plugins/profile/*", "profile/*", "*", "*/plugins/profile/*")
"""Where runs lie: below a logdir, its `plugins`, its `plugins/profile`, and below the parent of several logdirs."""
_HEAD_BYTES = 2**20
"""In so many bytes a timeline names its first process: it begins with the names of all."""
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
    """Those among them of which only reading tells whether they are timelines."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All of them."""
        return tuple(self.kinds)


@dataclass(frozen=True)
class OneFile:
    """A file that was named itself: its content tells what it is."""

    file: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """It alone."""
        return (self.file,)


@dataclass(frozen=True)
class Found:
    """What a path leads to."""

    place: Path
    """The path."""
    parts: tuple[Hosts | Steps | OneFile, ...]
    """What is read, a run each; at least one."""
    others: tuple[Path, ...] = ()
    """Run directories of the same logdir that are not among them, the newest first."""
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
        """For each directory of the files what captures noted beside them of their programs."""
        return {run: tuple(sidecars_of(run)) for run in dict.fromkeys(file.parent for file in self.files)}

    @property
    def told(self) -> str:
        """What to tell of files that are not read; "" for nothing."""
        if not self.unread:
            return ""
        return (
            f"{printable(str(self.place))} also holds files of TensorFlow's first profiler, which were not read: "
            f"{some_names([file.name for file in self.unread])}. Load one of them, or a pattern that matches them."
        )


def find(path: str | os.PathLike[str]) -> Found:
    """Look up what a path, a URL, or a pattern of either leads to; `open_traces` says what it may be.

    Raises:
        EmptyTraceError: a directory holds no trace.
        TraceError: nothing is there, or it cannot be listed; the message says what is there instead.
    """
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
    """What to tell of a file or directory that the system does not give out."""
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
    """Of which capture a run is, by its first window's, and which of its windows: a capture calls them `X`, `X.w2`, `X.w3`."""
    first, _, number = run.name.rpartition(".w")
    return (run.with_name(first), int(number)) if first and number.isdecimal() else (run, 1)


def _started(run: Path, files: Iterable[Path]) -> tuple[float, str]:
    """When a run started: TensorFlow names it so; of a directory renamed since, when its files were written."""
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
    """The files directly in a directory that are of steps, by name, with their kinds; nothing but first bytes is read.

    JSON called `timeline*.json*` is taken for a timeline. Reading it tells if it is none, as an empty or a cut one must not
    be missed.
    """
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
    """Files of steps among those that a pattern matches, and in the directories that it matches.

    Among those with a timeline every file that is called so is one. Where there is none they are traces of other programs.
    """
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
