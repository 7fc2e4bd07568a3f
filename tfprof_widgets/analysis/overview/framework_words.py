"""The framework of a trace -> how steps are marked there, and what a reader must know where it is not TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...trace.unrecorded import unrecorded_notice
from ..base.program_calls import Framework
from ..facts.totals import Totals

MARKING: Mapping[Framework, str] = {
    "TensorFlow": "`for batch in tfprof.trace_steps(dataset): ...` or `with tfprof.step(i): ...`",
    "JAX": '`with jax.profiler.StepTraceAnnotation("train", step_num=i): ...`',
    "PyTorch/XLA": '`with torch_xla.debug.profiler.StepTrace("train", step_num=i): ...`',
}
"""What marks a step."""
UNTOLD_INPUT = (
    "How long steps wait for data is not told: {framework} records no input pipeline. It is part of Python's time."
)


def framework_notices(results: Totals) -> Iterator[str]:
    """What is not in a trace of another framework than TensorFlow, or where another one ran, and that its steps were inferred."""
    environment = results.environment
    framework = environment.framework
    if environment.unrecorded:
        yield unrecorded_notice(environment.unrecorded)
    if framework == "TensorFlow":
        return
    version = f" {environment.jax_version}" if environment.jax_version else ""
    yield (
        f"This is a trace of {framework}{version}. What only TensorFlow records is not in it, such as its input pipeline, Keras "
        "layers and the memory of a CPU; advice about these is left out."
    )
    if results.hlo_ops.frame.empty:
        yield (
            "No op of a compiled program is in it, so what ran is not known: JAX 0.4.30 records none on a CPU, 0.10 does. "
            "Time in programs counts as Python's."
        )
    steps = results.steps.frame
    inferred = steps[steps["source"] == "inferred"]
    if len(inferred):
        yield (
            f"Nobody marked its steps: the {len(inferred):,} that are shown are inferred, each from the begin of one run of "
            f"{inferred['name'].iloc[0].rpartition(' ')[0]} to that of the next. {MARKING[framework]} marks them."
        )
