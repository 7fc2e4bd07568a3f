"""Hosts that are left out of a profile, each with its reason -> the notice that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_NAMED = 20
"""So many hosts that failed are named in a notice."""


@dataclass(frozen=True)
class FailedHost:
    """A file of which nothing can be shown, or a worker that sent none."""

    host: str
    """As its file is called, or the address of the worker."""
    reason: str


def failure_notice(failed: Sequence[FailedHost], n_all: int) -> str:
    """One sentence that counts and names those of `n_all` hosts that failed."""
    return f"{len(failed):,} of {n_all:,} hosts could not be read: {named_reasons(failed)}"


def named_reasons(failed: Sequence[FailedHost]) -> str:
    """Each with its reason, as far as they can be named, and of how many; ends with a full stop."""
    named = "; ".join(f"{one.host}: {one.reason.rstrip('.')}" for one in failed[:MOST_NAMED])
    more = f"; and {len(failed) - MOST_NAMED:,} more of {len(failed):,}" if len(failed) > MOST_NAMED else ""
    return f"{named}{more}."
