"""Two paths -> what changed from one run to the other, and an exit status by which a build can be stopped."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import TfProfError
from .documents import diff_document, is_beyond_noise
from .one_run import open_run
from .terminal import write_json, write_text

if TYPE_CHECKING:
    from ..profiles.two_runs import ProfileDiff

WITHIN, ABOVE = 0, 1


def print_diff(options: argparse.Namespace) -> int:
    """Print the comparison.

    Returns:
        `ABOVE` where the step of the second run takes more than `--fail-above` times that of the first, else `WITHIN`.

    Raises:
        TfProfError: a limit was given and a run has no steps to judge by it, or a run cannot be read or compared.
    """
    from ..profiles.two_runs import diff

    found, limit = diff(open_run(options.a), open_run(options.b)), options.fail_above
    if limit is not None:
        _check_steps(found, options, limit)
    if options.json:
        write_json(diff_document(found, limit=limit))
    else:
        write_text(str(found))
        if limit is not None:
            write_text(_judgement(found, limit))
    return ABOVE if limit is not None and found.step_time_ratio > limit else WITHIN


def _check_steps(found: ProfileDiff, options: argparse.Namespace, limit: float) -> None:
    if found.step_time_ratio == found.step_time_ratio:
        return
    counts = _figures(found, "n_steps")
    without = [path for path, count in zip((options.a, options.b), counts, strict=True) if not count]
    raise TfProfError(
        f"--fail-above {limit:g} compares the time of steps, and there are none in {' and in '.join(without)}: "
        "tfprof summary tells how to mark them"
    )


def _judgement(found: ProfileDiff, limit: float) -> str:
    """Which quantity is compared, how sure it is, and which side of the limit it is on."""
    from ..analysis.base.wording import number

    (n_a, n_b), (a_ms, b_ms) = _figures(found, "n_steps"), _figures(found, "step_time")
    ratio, (low, high) = found.step_time_ratio, found.step_time_interval
    beyond = is_beyond_noise(found)
    sure = "no interval, as a run has fewer than 6 steps" if beyond is None else f"95 % {number(low)} to {number(high)}"
    told = (
        f"Step time, the median of comparable steps: {number(a_ms)} ms (a, {n_a:.0f} steps) -> {number(b_ms)} ms "
        f"(b, {n_b:.0f} steps), x{ratio:.4g} ({sure})."
    )
    if ratio <= limit:
        return f"{told}\nWithin the limit of x{limit:g}."
    why = {
        True: "The difference is more than noise.",
        False: "But the difference is within the noise of the two runs: capture more steps, or again on a quieter machine.",
        None: "Whether it is more than noise is not known: capture at least 6 steps in each run.",
    }[beyond]
    return f"{told}\nAbove the limit of x{limit:g}. {why}"


def _figures(found: ProfileDiff, metric: str) -> tuple[float, float]:
    row = found.summary[found.summary["metric"] == metric]
    return float(row["a"].iloc[0]), float(row["b"].iloc[0])
