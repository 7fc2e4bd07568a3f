"""The arguments of `capture_remote` as fields -> their values, what is wrong with each, and the line of code that they make."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

import ipywidgets

from ...errors import TfProfError

Read: TypeAlias = Callable[[str, Any], Any]
"""From the name of an argument and what a field holds to the argument; raises what `capture_remote` would."""

_HINTS = {
    "addresses": "host:port of each worker, one a line or with commas; each runs tfprof.serve(port).",
    "duration_ms": "How long to capture, at most 10 minutes.",
    "host_tracer_level": "How much of each host is traced; tfprof.serve takes 1 as 2.",
    "device_tracer_level": "Whether GPUs and other devices are traced; tfprof.serve always does.",
    "delay_ms": "How far ahead all begin. Empty: 500, or 0 for one worker.",
    "num_tracing_attempts": "How often all are asked while one is busy or has no events.",
    "logdir": "Where the traces are kept. Empty: as long as the profile.",
}
_HOST_LEVELS = [("1: critical events only", 1), ("2: info", 2), ("3: verbose", 3)]
_DEVICE_LEVELS = [("1: traced", 1), ("0: not traced", 0)]
_N_LINES = 3


class CaptureFields:
    """One control for each argument, and below it what it means or what is wrong with it."""

    def __init__(self, given: Mapping[str, Any], *, read: Read) -> None:
        """Begin with `given`, the arguments of `capture_remote`; `read` knows their rules."""
        self._read = read
        self.controls: dict[str, Any] = {
            "addresses": ipywidgets.Textarea(
                "\n".join(given["addresses"]), description="Workers", rows=_N_LINES, placeholder="127.0.0.1:6009"
            ),
            "duration_ms": ipywidgets.IntText(given["duration_ms"], description="Duration (ms)"),
            "host_tracer_level": ipywidgets.Dropdown(
                options=_HOST_LEVELS, value=given["host_tracer_level"], description="Host tracer level"
            ),
            "device_tracer_level": ipywidgets.Dropdown(
                options=_DEVICE_LEVELS, value=given["device_tracer_level"], description="Device tracer level"
            ),
            "delay_ms": ipywidgets.Text(_text(given["delay_ms"]), description="Delay (ms)"),
            "num_tracing_attempts": ipywidgets.IntText(given["num_tracing_attempts"], description="Attempts"),
            "logdir": ipywidgets.Text(_text(given["logdir"]), description="Log directory"),
        }
        self._unseen = {name: value for name, value in given.items() if name not in self.controls}
        self._hints = {name: ipywidgets.HTML(hint) for name, hint in _HINTS.items()}
        for name, control in self.controls.items():
            control.layout.width = "auto"
            if hasattr(control, "continuous_update"):
                control.continuous_update = False  # what is half written is not wrong yet
            self._hints[name].add_class("tfp-cap-hint")
            control.observe(lambda _, name=name: self._tell(name), "value")

    @property
    def boxes(self) -> Sequence[Any]:
        """The addresses over their whole width, and a grid of the other fields."""
        fields = {
            name: ipywidgets.VBox([control, self._hints[name]]).add_class("tfp-cap-field")
            for name, control in self.controls.items()
        }
        columns = ipywidgets.Layout(grid_template_columns="repeat(auto-fill, minmax(210px, 1fr))")
        others = [field for name, field in fields.items() if name != "addresses"]
        return fields["addresses"], ipywidgets.GridBox(others, layout=columns).add_class("tfp-cap-fields")

    def observe(self, action: Callable[[], None]) -> None:
        """Call `action` whenever a value changes."""
        for control in self.controls.values():
            control.observe(lambda _: action(), "value")

    def arguments(self) -> dict[str, Any] | None:
        """The arguments of `capture_remote`; None while one has a problem."""
        read = {name: self._argument(name) for name in self.controls}
        if any(problem for _, problem in read.values()):
            return None
        return self._unseen | {name: one for name, (one, _) in read.items()}

    def tell_problems(self) -> None:
        """Say beside each field what is wrong with it."""
        for name in self.controls:
            self._tell(name)

    def problem(self, name: str) -> str:
        """What is wrong with one field; empty where nothing is."""
        return self._argument(name)[1]

    def _argument(self, name: str) -> tuple[Any, str]:
        try:
            return self._read(name, self.controls[name].value), ""
        except (TfProfError, TypeError, ValueError) as error:
            return None, str(error)

    def _tell(self, name: str) -> None:
        problem = self.problem(name)
        self._hints[name].value = f'<span role="alert">{escape(problem)}</span>' if problem else _HINTS[name]


def code_line(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """The call that captures the same: the duration always, other arguments where they are not the default.

    A token is named and not shown: a notebook keeps the line.
    """
    addresses = ", ".join(map(_literal, arguments["addresses"]))
    others = [
        f"{name}={name if name == 'token' else _literal(arguments[name])}"
        for name, default in defaults.items()
        if name == "duration_ms" or arguments[name] != default
    ]
    return f"tfprof.capture_remote([{addresses}], {', '.join(others)})"


def _literal(value: Any) -> str:
    return json.dumps(str(value), ensure_ascii=False) if isinstance(value, (str, Path)) else repr(value)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
