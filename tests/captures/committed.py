"""The captures under `tests/data` and what XProf says of them -> an unpacked log directory, and XProf's answers by tool.

`tests/data/NAME/` is a log directory as `tfprof.load` takes it; `tests/data/NAME.xprof.json.gz` holds the answers.
"""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"
TRACE = "plugins/profile/run/vm.xplane.pb"
"""Where a log directory has its trace. In `tests/data` it is compressed: by gzip, as `tfprof.load` reads it, of those that a
GPU made; by lzma, a quarter smaller, of those that change with every `--captures`."""
NAMES = tuple(sorted(path.name for path in DATA.iterdir() if path.is_dir()))
_DECOMPRESS = {".gz": gzip.decompress, ".xz": lzma.decompress}


def content(name: str) -> bytes:
    """The bytes of the xplane.pb of a capture."""
    (path,) = (DATA / name).glob(f"{TRACE}.*")
    return _DECOMPRESS[path.suffix](path.read_bytes())


def unpack(name: str, directory: Path) -> Path:
    """Write a capture's log directory with its trace uncompressed, and give the path of the trace."""
    shutil.copytree(DATA / name, directory, ignore=shutil.ignore_patterns("*.xplane.pb.*"))
    path = directory / TRACE
    path.write_bytes(content(name))
    return path


def pack(xplane: Path, name: str) -> None:
    """Take a trace of a CPU into `tests/data`."""
    (DATA / name / f"{TRACE}.xz").write_bytes(lzma.compress(xplane.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


def write_answers(name: str, answers: dict[str, Any]) -> None:
    """Keep what XProf says, with the same bytes for the same answers."""
    text = json.dumps(answers, separators=(",", ":"), sort_keys=True)
    (DATA / f"{name}.xprof.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def answers(name: str) -> dict[str, Any]:
    """XProf's `version`, the `sha256` of the trace it read, and the JSON of each tool in `tools`."""
    found: dict[str, Any] = json.loads(gzip.decompress((DATA / f"{name}.xprof.json.gz").read_bytes()))
    return found
