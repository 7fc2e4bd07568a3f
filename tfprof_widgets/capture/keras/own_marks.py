"""A module of Keras that marks steps itself, as Keras 2 does -> the same without its marks, while a capture makes its own.

Those of Keras 2 are numbered anew in each epoch, and the first of a window is missing: it begins before the window opens. With
both, each step would be there twice.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType
from typing import Any


class _Changed:
    """A module some names of which stand for something else."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def without_own_marks(module: ModuleType | None) -> Callable[[], None] | None:
    """Have a module see a TensorFlow that marks nothing; return what takes that back, None where it sees none at all."""
    if module is None or "tf" not in vars(module):
        return None
    tf = vars(module)["tf"]
    experimental = _Changed(tf.profiler.experimental, Trace=lambda *_, **__: nullcontext())
    changed = _Changed(tf, profiler=_Changed(tf.profiler, experimental=experimental))
    vars(module)["tf"] = changed

    def undo() -> None:
        if vars(module)["tf"] is changed:
            vars(module)["tf"] = tf

    return undo
