"""Two paths -> what changed from one run to the other, and an exit status by which a build can be stopped."""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from ..errors import TfProfError
from .documents import diff_document, is_beyond_noise
from .one_run import open_run
from .terminal import write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..comparing import ProfileDiff

WITHIN, ABOVE, CANNOT_TELL = 0, 1, 3
FEWEST = 6
"""With fewer steps in a run a comparison has no interval."""


def print_diff(options: argparse.Namespace) -> int:
    """Print the comparison.

    Returns:
        `ABOVE` where the step of the second run surely takes more than `--fail-above` times that of the first, `WITHIN` where it
        surely does not, `CANNOT_TELL` where noise or a busy machine may hide either.

    Raises:
        TfProfError: a limit was given and a run has too few steps to judge by it, or a run cannot be read or compared.
    """
    from ..comparing import diff

    found, limit = diff(open_run(options.a), open_run(options.b)), options.fail_above
    a, b = names(options.a, options.b)
    found = replace(found, a=a, b=b)
    if limit is not None:
        _check_steps(found, options, limit)
    status = WITHIN if limit is None else _status(found, limit)
    told = "" if limit is None else _judgement(found, limit, status)
    if options.json:
        is_above = None if limit is None or status == CANNOT_TELL else status == ABOVE
        write_json(diff_document(found, limit=limit, is_above=is_above, judgement=told))
    else:
        write_text(str(found))
        if told:
            write_text(told)
    return status


def _status(found: ProfileDiff, limit: float) -> int:
    low, high = found.step_time_interval
    if low > limit:
        return ABOVE
    return WITHIN if high <= limit and not found.busy_machine else CANNOT_TELL


def names(a: str, b: str) -> tuple[str, str]:
    """Two paths as they were typed, without the folders in front and behind that are the same.

    names("runs/before/logs", "runs/after/logs") -> ("before", "after")
    """
    parts = [path.rstrip("/").split("/") for path in (a, b)]
    n_first = _n_alike(*parts)
    n_last = _n_alike(*(one[n_first:][::-1] for one in parts))
    first, second = ("/".join(one[n_first : len(one) - n_last]) for one in parts)
    return (first, second) if first and second else (a, b)


def _n_alike(a: Sequence[str], b: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _check_steps(found: ProfileDiff, options: argparse.Namespace, limit: float) -> None:
    counts = dict(zip((options.a, options.b), _figures(found, "n_steps"), strict=True))
    without = [path for path, count in counts.items() if not count]
    if without:
        raise TfProfError(
            f"--fail-above {limit:g} compares the time of steps, and there are none in {' and in '.join(without)}: "
            "tfprof summary tells how to mark them"
        )
    if is_beyond_noise(found) is None:  # a training that was cut short must not pass
        few = " and ".join(f"{count:.0f} in {path}" for path, count in counts.items() if count < FEWEST)
        raise TfProfError(
            f"--fail-above {limit:g} compares steps with what they vary by, which takes {FEWEST} comparable steps in each "
            f"run, and there are {few or 'fewer'}: capture more"
        )


def _judgement(found: ProfileDiff, limit: float, status: int) -> str:
    """Which quantity is compared, how sure it is, and which side of the limit it is on."""
    from ..analysis.base.wording import number

    (n_a, n_b), (a_ms, b_ms) = _figures(found, "n_steps"), _figures(found, "step_time")
    ratio, (low, high) = found.step_time_ratio, found.step_time_interval
    told = (
        f"Step time, the median of comparable steps: {number(a_ms)} ms (a, {n_a:.0f} steps) -> {number(b_ms)} ms "
        f"(b, {n_b:.0f} steps), x{ratio:.4g} (95 % {number(low)} to {number(high)})."
    )
    if status == WITHIN:
        return f"{told}\nWithin the limit of x{limit:g}, with all that noise may hide."
    if status == ABOVE:
        return f"{told}\nAbove the limit of x{limit:g}, by more than noise."
    busy = found.busy_machine
    why = (
        f"{busy}. Run {'both' if ' and ' in busy else 'it'} again on a free machine."
        if busy
        else "the interval has it inside. Capture more steps, or on a quieter machine, or take a limit beyond the noise."
    )
    return f"{told}\nCannot tell whether it is above the limit of x{limit:g}: {why}"


def _figures(found: ProfileDiff, metric: str) -> tuple[float, float]:
    row = found.summary[found.summary["metric"] == metric]
    return float(row["a"].iloc[0]), float(row["b"].iloc[0])
