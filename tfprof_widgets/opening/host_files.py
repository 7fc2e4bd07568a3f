"""A path -> the trace files that it names, one per host of a run, before any of them is read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..formats.saved import SavedProfile, read_saved
from .open_file import CHROME_SUFFIXES, SUFFIXES, trace_files
from .places import has_magic, matches_of, place_of
from .step_files import steps_among

RUNS = Path("plugins") / "profile"
"""Where TensorBoard looks for runs below a log directory."""
_RUN_PATTERNS = ("plugins/profile/*", "profile/*", "*", "*/plugins/profile/*")
"""Where runs lie: below a logdir, its `plugins`, its `plugins/profile`, and below the parent of several logdirs."""


@dataclass(frozen=True)
class HostFiles:
    """The trace files that a path names."""

    files: tuple[Path, ...]
    """By name; of one host each, where they are of one run."""
    others: tuple[Path, ...] = ()
    """Run directories of the same logdir that are not among them, the newest first."""
    saved: SavedProfile | None = None
    """What `Profile.save` put beside them."""

    @property
    def n_hosts(self) -> int:
        """How many hosts there are at most: files of one name in several runs are windows of one capture."""
        return len({file.name for file in self.files})


def host_files(path: str | os.PathLike[str]) -> HostFiles:
    """The trace files of a run directory, of the newest run of a logdir, of a saved profile, or of a glob; or the one given.

    Returns:
        Those files; none where the path is something else, such as steps of TensorFlow's first profiler or nothing: what that
        is, opening it tells.

    Raises:
        TraceError: a URL cannot be listed, or a saved profile's sidecar cannot be read.
    """
    place = place_of(path)
    try:
        if place.is_dir():
            saved = read_saved(place)
            if saved is not None and saved.runs:
                runs = [place / RUNS / name for name in saved.runs]
                return HostFiles(tuple(file for run in runs for file in trace_files(run)), saved=saved)
            return HostFiles(*newest_run(place))
        if has_magic(place) and not place.exists():
            return HostFiles(_matched(place))
        is_trace = place.name.endswith(SUFFIXES + CHROME_SUFFIXES) and place.is_file()
        return HostFiles((place,) if is_trace else ())
    except OSError:  # opening it tells
        return HostFiles(())


def _matched(pattern: Path) -> tuple[Path, ...]:
    matches = matches_of(pattern)
    files = traces_among(pattern, matches)
    if all(file.name.endswith(CHROME_SUFFIXES) for file in files) and steps_among(matches):
        return ()
    return tuple(files)


def newest_run(place: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The trace files of a directory that is a run, or else of the newest run below it, and the other runs."""
    files = trace_files(place)
    if not files and (runs := newest_first(run for pattern in _RUN_PATTERNS for run in place.glob(pattern))):
        return trace_files(runs[0]), runs[1:]
    return files, ()


def traces_among(pattern: Path, matches: Sequence[Path]) -> list[Path]:
    """The trace files that a pattern matches, and those in the directories that it matches."""
    directories = [match for match in matches if match.is_dir()]
    names = SUFFIXES + CHROME_SUFFIXES if str(pattern).endswith(CHROME_SUFFIXES) else SUFFIXES
    files = [match for match in matches if match.name.endswith(names) and match.is_file()]
    return list(dict.fromkeys(files + [file for run in directories for file in trace_files(run)]))


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
