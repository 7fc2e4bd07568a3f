"""Advice -> the same for a program of JAX or PyTorch/XLA: with what is written there, and without what only TensorFlow has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ..base.program_calls import Framework
from .advice import Advice
from .fix import Fix

_OF_TENSORFLOW = re.compile(r"\btf\b|keras|tensorflow|dataset|on_train_batch|model\.\w+\(|TF_", re.I)
"""What a program of another framework has nothing of."""
_RARELY = "Read results once in many steps: each read waits for the device, and what stays there costs nothing."
_JAX = {
    "idle_border": "Run several steps in one call: jax.lax.scan over some batches in a jitted function, so that "
    f"Python runs once for all of them. {_RARELY}",
    "host_callback": "A call returns before its result is there: make the next batch meanwhile, and read the last "
    "result afterwards, every hundredth step.",
    "output_bound": _RARELY,
    "h2d_bound": "Copy the batch of the next step (jax.device_put) before the result of this one is read.",
}
_TORCH = {
    "idle_border": f"{_RARELY} loss.item() and print(loss) are reads.",
    "output_bound": f"{_RARELY} loss.item() and print(loss) are reads.",
}
_FIXES: Mapping[Framework, Mapping[str, str]] = {"TensorFlow": {}, "JAX": _JAX, "PyTorch/XLA": _TORCH}
"""By framework and rule; the fix of another rule is as it is."""


def fitting(advice: Iterable[Advice], framework: Framework) -> Iterator[Advice]:
    """The advice that a program of the framework can follow; all of it of TensorFlow."""
    fixes = _FIXES[framework]
    for one in advice:
        told = replace(one, fix=Fix(fixes[one.rule])) if one.rule in fixes else one
        if framework == "TensorFlow" or not _OF_TENSORFLOW.search(f"{told.headline}\n{told.title}\n{told.fix}"):
            yield told
