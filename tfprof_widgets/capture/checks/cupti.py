"""cupti: NVIDIA's tracing library -> where it is, and whether it loads, tried outside of this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .check import text_of
from .tensorflow_facts import BuildFacts

TRY_SECONDS = 1.0
_PLAIN = "libcupti.so"
# One library a line, up to the first that loads: its name, a tab, then what the loader said, or a tab and the file it took.
_TRY = """
import ctypes, sys
for name in sys.argv[1:]:
    print(name, end="\\t", flush=True)
    try:
        ctypes.CDLL(name)
    except OSError as error:
        print(str(error).replace("\\n", " "), flush=True)
    else:
        with open("/proc/self/maps", errors="replace") as maps:
            print("", next((m[m.index("/"):].strip() for m in maps if "/libcupti" in m), name), sep="\\t", flush=True)
        break
"""


@dataclass(frozen=True)
class CuptiFacts:
    """What is known of CUPTI on this machine."""

    wanted: str = _PLAIN
    """The file that TensorFlow asks for first, such as `libcupti.so.12`."""
    loaded: str = ""
    """Its path in this process, once a capture has loaded it."""
    loadable: str = ""
    """The file that loads where TensorFlow looks."""
    failures: tuple[tuple[str, str], ...] = ()
    """Files that are there and do not load, each with the loader's words."""
    elsewhere: tuple[str, ...] = ()
    """Folders that have it and that nobody searches."""
    is_tried: bool = True
    """False: no process could be started to try it."""

    @property
    def is_other_version(self) -> bool:
        """Whether TensorFlow gets another version than it was built for: the wanted one is missing, a plain one is there."""
        wanted, found = _major(self.wanted), _major(self.loaded or self.loadable)
        return bool(wanted and found) and wanted != found


def cupti_facts(build: BuildFacts, environ: Mapping[str, str] | None = None) -> CuptiFacts:
    """Look for CUPTI as TensorFlow does: by version, then plain; on the loader's path and in NVIDIA's wheels.

    Loading it here would change what TensorFlow finds later, and a broken one may crash: another process tries it.
    """
    environ = os.environ if environ is None else environ
    major = build.cuda_version.partition(".")[0]
    names = [f"{_PLAIN}.{major}", _PLAIN] if major else [_PLAIN]
    loaded = _loaded()
    if loaded:
        return CuptiFacts(names[0], loaded=loaded)
    candidates = [
        candidate
        for name in names
        for candidate in (name, *(str(f / name) for f in _wheel_folders(build) if (f / name).is_file()))
    ]
    elsewhere = tuple(folder for folder in _other_folders(environ) for name in names if Path(folder, name).is_file())
    answers = _try(candidates)
    # Of a bare name that failed nothing is to be learned, except that a file was found and is broken.
    failures = tuple((a.name, a.error) for a in answers if a.error and not _is_absent(a.name, a.error))
    return CuptiFacts(
        names[0],
        loadable=next((answer.path for answer in answers if not answer.error), ""),
        failures=failures,
        elsewhere=tuple(dict.fromkeys(elsewhere)),
        is_tried=bool(answers),
    )


def _major(path: str) -> str:
    """The version in a file's name; of a plain `libcupti.so` that in the name it links to, if any."""
    return Path(path).name.rpartition(".so")[2].strip(".").partition(".")[0]


def _is_absent(name: str, error: str) -> bool:
    # The loader says the same of a library and of what that needs: only the first word tells them apart.
    return error.startswith(f"{name}:") and "No such file" in error


def _loaded() -> str:
    maps = text_of(Path("/proc/self/maps")).splitlines()
    return next((line[line.index("/") :] for line in maps if "/libcupti.so" in line), "")


def _wheel_folders(build: BuildFacts) -> list[Path]:
    """Folders of NVIDIA's wheels that TensorFlow's libraries name in their run path."""
    if build.folder is None:
        return []
    nvidia = build.folder.parent / "nvidia"
    return [nvidia / "cuda_cupti" / "lib", *sorted(nvidia.glob("cu[0-9]*/lib"))]


def _other_folders(environ: Mapping[str, str]) -> list[str]:
    homes = [
        environ.get("CUDA_HOME", ""),
        environ.get("CUDA_PATH", ""),
        *sorted(map(str, Path("/usr/local").glob("cuda*"))),
    ]
    folders = [f"{home}/extras/CUPTI/lib64" for home in homes if home]
    return folders + ([f"{environ['CONDA_PREFIX']}/lib"] if environ.get("CONDA_PREFIX") else [])


def loader_environment(environ: Mapping[str, str], at_start: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which another process finds libraries as this one does.

    The loader reads LD_LIBRARY_PATH once, as a process starts: what a notebook sets in `os.environ` is too late for
    TensorFlow, but a child would see it.

    Args:
        environ: of this process, now.
        at_start: of this process when it began.
    """
    changed = {name: text for name, text in environ.items() if name != "LD_LIBRARY_PATH"}
    return changed | {name: at_start[name] for name in ("LD_LIBRARY_PATH",) if name in at_start}


class _Answer(NamedTuple):
    """What came of one attempt to load a library."""

    name: str
    error: str
    path: str


def _try(names: list[str]) -> list[_Answer]:
    """What came of each that was tried; empty where no process can be started."""
    if not sys.executable:
        return []
    import psutil

    command = [sys.executable, "-I", "-S", "-c", _TRY, *names]
    try:
        done = subprocess.run(
            command,
            env=loader_environment(os.environ, psutil.Process().environ()),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TRY_SECONDS,
            check=False,
        )
        output, end = done.stdout, f"the process that loaded it ended with status {done.returncode}"
    except subprocess.TimeoutExpired as expired:
        output, end = expired.stdout or b"", f"loading it took more than {TRY_SECONDS:g} s"
    except (OSError, psutil.Error):
        return []
    answers = []
    for line in output.decode(errors="replace").splitlines(keepends=True):
        name, _, rest = line.partition("\t")
        error, _, path = rest.partition("\t")
        if line.endswith("\n"):
            answers.append(_Answer(name, error.strip(), path.strip()))
        elif rest == "" and name in names:
            answers.append(_Answer(name, end, ""))
    return answers
