"""What a step loses to the input -> one sentence, in the figures of the verdict and of the breakdown of a step."""

from __future__ import annotations

from ..base.wording import milliseconds, number, percent
from ..input.input_usage import INPUT_HIGH
from .framework_words import UNTOLD_INPUT
from .overview import Overview

KEEPS_UP = 0.02
"""An input that costs less of a step than this is nothing to be alarmed about."""


def input_words(overview: Overview, otherwise: str) -> str:
    """Whether steps wait for data.

    Args:
        overview: of the run.
        otherwise: what is said where no step is averaged, `InputPipeline.verdict`. That one counts what XProf counts as input, a
            step's stages of the pipeline among it, and here only waiting counts.
    """
    if (framework := overview.environment.framework) != "TensorFlow":
        return UNTOLD_INPUT.format(framework=framework)
    if overview.environment.unrecorded:
        return f"How long steps wait for data is not known: {overview.environment.unrecorded} is not recorded."
    if not overview.n_steps_averaged:
        return otherwise
    parts = overview.breakdown
    of = dict(zip(parts["category"].tolist(), parts["ms"].tolist(), strict=True))
    ms, ratio = of["input"], of["input"] / overview.step_time_avg_ms
    if ratio < KEEPS_UP:
        return f"The input keeps up: it costs {milliseconds(ms)} of a step."
    device = "TPU" if "TPU" in overview.environment.device_type else "GPU"
    who = device if of["device_compute"] > 0 else "model"
    bound = "Input-bound: the" if ratio >= INPUT_HIGH else "The"
    whole = number(overview.step_time_avg_ms)
    return f"{bound} {who} waits {number(ms)} of {whole} ms a step for data ({percent(ratio)})."
