"""Members of a part -> members of the whole that holds it: the same signature, type and docstring, written once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from textwrap import fill
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

Part = TypeVar("Part")
Given = ParamSpec("Given")
Value = TypeVar("Value")

if TYPE_CHECKING:
    import pandas as pd

    class ReadOnly(Generic[Value]):
        """A property, to type checkers."""

        def __get__(self, whole: Any, kind: type | None = None, /) -> Value: ...


def method_of(part: str, method: Callable[Concatenate[Part, Given], Value]) -> Callable[Concatenate[Any, Given], Value]:
    """A method that calls `method` of the attribute `part` of the whole."""

    @wraps(method)
    def call(whole: Any, /, *args: Given.args, **kwargs: Given.kwargs) -> Value:
        return method(getattr(whole, part), *args, **kwargs)

    return cast("Callable[Concatenate[Any, Given], Value]", call)


def property_of(part: str, read: Callable[[Part], Value]) -> ReadOnly[Value]:
    """A property that reads `read`, itself a property or a cached one, of the attribute `part` of the whole."""
    descriptor: Any = read  # type checkers take a property of a class for the function that it calls

    @wraps(getattr(descriptor, "fget", None) or descriptor.func)
    def get(whole: Any) -> Any:
        return descriptor.__get__(getattr(whole, part))

    return cast("ReadOnly[Value]", property(get))


def table_at(path: str, note: str = "") -> ReadOnly[pd.DataFrame]:
    """A property that reads the table at a dotted path of the whole; `tell_columns` completes its docstring."""
    return cast("ReadOnly[pd.DataFrame]", property(attrgetter(path), doc=fill(note, 100)))
