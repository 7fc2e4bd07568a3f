"""How many threads TensorFlow was told to use -> advice where the machine has more cores than that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..base.wording import plural
from ..steps.averaged_steps import MIN_STEPS
from .advice import MEDIUM_GAIN, Advice, advise
from .fix import Fix

if TYPE_CHECKING:
    from .run import Run


def few_threads(run: Run) -> Iterator[Advice]:
    """The program set fewer threads for an op than the machine has cores, and what it does most is compute.

    Gain: of the share of the step time in which ops run what more threads would save, if they shared all of it.
    """
    steps, sources = run.steps, run.results.sources
    if sources is None or len(steps) < MIN_STEPS or steps.has_device or run.eager.is_hot:
        return
    facts = dict(zip(sources.facts["name"], sources.facts["value"], strict=True))
    n_threads, n_cpus = (_whole(facts.get(name, "")) for name in ("intra_op_threads", "n_cpus"))
    if not 0 < n_threads < n_cpus:
        return
    computing = steps.part("compute", min(run.work.growing_ms, steps.ms("host_compute")))
    gain = computing.ratio * (1 - n_threads / n_cpus)
    if gain < MEDIUM_GAIN:
        return
    yield advise(
        "few_threads",
        f"TensorFlow was told to use {plural(n_threads, 'thread')} for an op, of {n_cpus} cores: ops compute for {computing}.",
        evidence=computing.evidence | {"intra_op_threads": n_threads, "n_cpus": n_cpus},
        fix=Fix(
            "Leave the numbers of threads out, or set 0, one thread a core, before anything runs.",
            "import tensorflow as "
            "tf\n\ntf.config.threading.set_intra_op_parallelism_threads(0)\ntf.config.threading.set_inter_op_parallelism_threads(0)",
        ),
        selection=steps.usual(steps.time_ms, view="timeline"),
        gain_ratio=gain,
    )


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
