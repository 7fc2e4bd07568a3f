"""The files of a profile -> a log directory that `load` and TensorBoard open."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from ..errors import TfProfError, TraceError, without_controls
from ..formats.saved import SAVED, SavedProfile
from ..formats.sidecar import is_sidecar, sidecars_of
from ..formats.wire.file_kind import STEP_KINDS, FileKind
from ..opening.file_content import file_bytes, kind_of_file
from ..opening.file_names import CHROME_SUFFIXES, GRAPH_NAMES, OP_LOG_NAME, RUNS, SUFFIXES, companion_name
from ..opening.opened import Opened, stamp_of
from ..opening.places import is_url
from .atomic import replacing

_CHUNK = 2**20
_KEPT_KINDS = (*STEP_KINDS, FileKind.GRAPH, FileKind.OP_LOG)
"""Files of TensorFlow's first profiler, which keep their names: steps are numbered by them."""


def save_runs(directory: Path, opened: Opened, saved: SavedProfile) -> Path:
    """Copy the files of a profile, run by run, and write the sidecar; what is in the directory already stays.

    Args:
        directory: the log directory.
        opened: names the traces that the profile was read from, in time order of their runs.
        saved: what goes into the sidecar.

    Raises:
        TfProfError: a file cannot be read or written; the message says which.
    """
    files = opened.paths
    if len(opened.stamps) < len(files):
        raise TfProfError(
            f"The {len(files):,} hosts were read where their files are, behind URLs, and are not all fetched to be saved. "
            "prof.host(name).save(directory) saves one."
        )
    for file, stamp in zip(files, opened.stamps, strict=True):
        if not file.is_file():
            raise TfProfError(f"{file} cannot be read: it is no longer there. Load the profile again from where it is.")
        if stamp_of(file) != stamp:  # the copy would hold another trace than the one that is shown
            raise TfProfError(f"{file} was written again since this profile was loaded. Load it again to save it.")
    runs: dict[Path, list[Path]] = {}
    for file in files:
        runs.setdefault(file.parent, []).append(file)
    names = _run_names(directory, runs)
    for (run, own), name in zip(runs.items(), names, strict=True):
        for file in [*own, *filter(_is_within, sidecars_of(run))]:
            _copy(file, directory / RUNS / name / _file_name(file))
        for file in opened.companions:
            if file.is_file() and _is_within(file):
                _copy(file, directory / RUNS / name / companion_name(file))
    document = json.dumps(replace(saved, runs=tuple(names)).document(), allow_nan=False, indent=1)
    with replacing(directory / SAVED) as sidecar:
        sidecar.write(document.encode())
    _warn_of_other_formats(directory, files)
    return directory


def _is_within(file: Path) -> bool:
    """Whether a file that nobody named is no link out of its directory, to what was not meant to be copied."""
    is_within = is_url(file) or not file.is_symlink() or file.resolve().is_relative_to(file.parent.resolve())
    if not is_within:
        warnings.warn(without_controls(f"{file} is a link out of its directory, so it was not saved."), stacklevel=5)
    return is_within


def _warn_of_other_formats(directory: Path, files: Sequence[Path]) -> None:
    if any(file.name.endswith(CHROME_SUFFIXES) for file in files):
        what, those = "a Chrome trace", "that JSON file"
    elif any(kind_of_file(file) in _KEPT_KINDS for file in files):
        what, those = "files of TensorFlow's first profiler", "those files"
    else:
        return
    warnings.warn(
        f"This profile was loaded from {what}, not from an XSpace. {directory} holds {those}: "
        "tfprof_widgets.load opens it, TensorBoard does not.",
        stacklevel=4,
    )


def _run_names(directory: Path, runs: Mapping[Path, Sequence[Path]]) -> list[str]:
    """A name for each run: its own, unless another run of the profile or of the directory has it."""
    names: list[str] = []
    for run, files in runs.items():
        base = run.absolute().name or "run"
        name, n = base, 1
        while name in names or _is_taken(directory / RUNS / name, files):
            n += 1
            name = f"{base}_{n}"
        names.append(name)
    return names


def _is_taken(place: Path, files: Sequence[Path]) -> bool:
    """Whether the traces of another run are there; those that an earlier call put there are not."""
    there = [
        file
        for file in place.glob("*")
        if file.is_file() and file.name not in (*GRAPH_NAMES, OP_LOG_NAME) and _is_trace(file)
    ]
    own = {_file_name(file): file for file in files}
    return any(file.name not in own or not _holds(file, own[file.name]) for file in there)


def _is_trace(file: Path) -> bool:
    return not is_sidecar(file.name) and (
        file.name.endswith(SUFFIXES + CHROME_SUFFIXES) or kind_of_file(file) in _KEPT_KINDS
    )


def _holds(copy: Path, source: Path) -> bool:
    """Whether a file is what `_copy` made of a source, byte by byte."""
    if copy.samefile(source):
        return True
    try:
        with copy.open("rb") as file:
            for part in _content(source, copy.name):
                if file.read(len(part)) != part:
                    return False
            return not file.read(1)
    except (OSError, TraceError):
        return False


def _file_name(file: Path) -> str:
    """The name under which TensorBoard finds a trace: it knows no compressed ones."""
    name = file.name
    if is_sidecar(name) or name.endswith(CHROME_SUFFIXES) or kind_of_file(file) in _KEPT_KINDS:
        return name
    stem = next((name.removesuffix(suffix) for suffix in reversed(SUFFIXES) if name.endswith(suffix)), name)
    return f"{stem}{SUFFIXES[0]}"


def _copy(source: Path, target: Path) -> None:
    if target.exists() and target.samefile(source):
        return
    parts = _content(source, target.name)
    try:
        first = next(parts, b"")
        with replacing(target, packs=False) as copy:
            for part in chain([first], parts):
                copy.write(part)
    except (OSError, TraceError) as error:
        raise TfProfError(f"{source} cannot be read: {error}. The profile keeps what was read before.") from error


def _content(source: Path, name: str) -> Iterator[bytes]:
    """What a file of this name is to hold of a source, piece by piece: an XSpace is unpacked."""
    with source.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b" and name.endswith(SUFFIXES[0])
        file.seek(0)
        if not is_packed:
            yield from iter(lambda: file.read(_CHUNK), b"")
            return
    yield file_bytes(source)
