"""The framework of a trace -> how steps are marked there, and what a reader must know where it is not TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from ..base.program_calls import Framework
from ..hosts.environment import Environment

MARKING: Mapping[Framework, str] = {
    "TensorFlow": "`for batch in tfprof.trace_steps(dataset): ...` or `with tfprof.step(i): ...`",
    "JAX": '`with jax.profiler.StepTraceAnnotation("train", step_num=i): ...`',
    "PyTorch/XLA": '`with torch_xla.debug.profiler.StepTrace("train", step_num=i): ...`',
}
"""What marks a step."""
UNTOLD_INPUT = (
    "How long steps wait for data is not told: {framework} records no input pipeline. It is part of Python's time."
)


def framework_notices(environment: Environment, steps: pd.DataFrame) -> Iterator[str]:
    """What is not in a trace of another framework than TensorFlow, and that its steps were inferred.

    Args:
        environment: of the trace.
        steps: the `steps` table.
    """
    framework = environment.framework
    if framework == "TensorFlow":
        return
    version = f" {environment.jax_version}" if environment.jax_version else ""
    yield (
        f"This is a trace of {framework}{version}. What only TensorFlow records is not in it, such as its input pipeline, Keras "
        "layers and the memory of a CPU; advice about these is left out."
    )
    inferred = steps[steps["source"] == "inferred"]
    if len(inferred):
        yield (
            f"Nobody marked its steps: the {len(inferred):,} that are shown are inferred, each from the begin of one run of "
            f"{inferred['name'].iloc[0].rpartition(' ')[0]} to that of the next. {MARKING[framework]} marks them."
        )
