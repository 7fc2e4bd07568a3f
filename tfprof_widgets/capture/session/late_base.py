"""A class whose base lives in TensorFlow or Keras -> the same class with that base, made when its first object is."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound="LateBase")


class LateBase:
    """Its subclasses are classes like any other, and import nothing: an object of one has the late base as well.

    So `isinstance` of an object is true of the class, of what a user derives from it, and of the base.
    """

    @classmethod
    def _late_base(cls) -> type:
        """The base, whose package is imported now."""
        raise NotImplementedError

    def __new__(cls: type[Kind], *_args: Any, **_kwargs: Any) -> Kind:
        """Make an object of the class with its late base, whose `__init__` takes the arguments."""
        made: Kind = super().__new__(_completed(cls))  # type: ignore[arg-type]
        return made


@functools.cache
def _completed(kind: type[Any]) -> type[Any]:
    """The class with its late base; itself where it has it."""
    base = kind._late_base()
    if issubclass(kind, base):
        return kind
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind, base), names)
