"""What marks the steps of a library while a capture runs, and what is taken back when nobody holds the capture any more."""

from __future__ import annotations

from typing import Protocol

from ..machine.sampler import SystemSampler
from ..source.captured_program import CapturedProgram


class Patch(Protocol):
    """What marks the steps of a library while a capture runs, such as `KerasPatch`."""

    def install(self) -> None:
        """Begin to mark; a second call does nothing."""

    def remove(self) -> None:
        """Leave the library as it was; a second call does nothing."""


def abandon(patch: Patch | None, sampler: SystemSampler | None, program: CapturedProgram) -> None:
    """Take back what a capture left in the process whose owner is gone without `stop()`."""
    if patch is not None:
        patch.remove()
    if sampler is not None:
        sampler.stop()
    program.stop()
