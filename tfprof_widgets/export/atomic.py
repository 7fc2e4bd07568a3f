"""A path -> a file that stands there whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import TfProfError

_LEVEL = 4
"""Of gzip: a trace becomes a tenth; level 9 takes three times as long for 5 % less."""


@contextlib.contextmanager
def replacing(path: Path, *, packs: bool = True) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` when the block ends.

    With `packs` what is written is compressed where the name ends in `.gz`.

    When the block fails (a full disk, Ctrl-C), `path` is what it was before and nothing is left beside it.

    Raises:
        TfProfError: the file cannot be written; the message says where and why.
    """
    part: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, part = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".part", dir=path.parent)
        with os.fdopen(number, "wb") as raw:
            if packs and path.name.endswith(".gz"):
                # No name and time inside: the same profile gives the same bytes.
                with gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=raw, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield raw
        os.chmod(part, 0o666 & ~_umask())  # noqa: PTH101 - a name, not a Path; mkstemp gives 0o600
        os.replace(part, path)  # noqa: PTH105 - a name, not a Path
    except OSError as error:
        raise TfProfError(f"{path} cannot be written: {error.strerror or error}. Give another place.") from error
    finally:
        if part is not None:
            with contextlib.suppress(OSError):  # after the renaming it is gone
                os.unlink(part)  # noqa: PTH108 - a name, not a Path


def _umask() -> int:
    """The mask of this process, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
