"""Advice -> the same for a program of JAX or PyTorch/XLA: with what is written there, and without what only TensorFlow has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ..base.program_calls import Framework
from .advice import Advice

_OF_TENSORFLOW = re.compile(r"\btf\b|keras|tensorflow|dataset|on_train_batch|model\.\w+\(|TF_", re.I)
"""What a program of another framework has nothing of."""
_JAX = {
    "idle_border": """\
# several steps in one call: Python runs once for all of them
@jax.jit
def train(params, batches):  # the batches of some steps, stacked
    return jax.lax.scan(train_step, params, batches)
# read results, as float(loss) and block_until_ready() do, once in many steps: each read waits for the device""",
    "host_callback": """\
# a call returns before its result is there: make the next batch meanwhile, and read the last result afterwards
params, loss = train_step(params, batch)
batch = next(batches)
if step % 100 == 0:
    print(float(loss))""",
    "output_bound": """\
if step % 100 == 0:  # what stays on the device costs nothing
    print(float(loss))""",
    "h2d_bound": """\
batch = jax.device_put(next(batches))  # of the next step, before the result of this one is read""",
    "memory_headroom": "batch_size = {factor} * batch_size",
}
_TORCH = {
    "idle_border": """\
# read results, as loss.item() and print(loss) do, once in many steps: each read waits for the device
if step % 100 == 0:
    print(loss.item())""",
    "output_bound": """\
if step % 100 == 0:  # what stays on the device costs nothing
    print(loss.item())""",
    "memory_headroom": "batch_size = {factor} * batch_size",
}
_FIXES: Mapping[Framework, Mapping[str, str]] = {"TensorFlow": {}, "JAX": _JAX, "PyTorch/XLA": _TORCH}
"""By framework and rule; the fix of another rule is as it is."""


def fitting(advice: Iterable[Advice], framework: Framework) -> Iterator[Advice]:
    """The advice that a program of the framework can follow; all of it of TensorFlow."""
    fixes = _FIXES[framework]
    for one in advice:
        told = replace(one, fix=_fix(one, fixes[one.rule])) if one.rule in fixes else one
        if framework == "TensorFlow" or not _OF_TENSORFLOW.search(f"{told.headline}\n{told.title}\n{told.fix}"):
            yield told


def _fix(advice: Advice, text: str) -> str:
    factor = re.search(r"(\d+) \* batch_size", advice.fix)
    return text.format(factor=factor[1] if factor else 2) if "{factor}" in text else text
