"""The options of `capture_remote` -> a form in the notebook that captures with them and shows the profile."""

from __future__ import annotations

import inspect
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

import ipywidgets

from ..analysis.common import plural, size
from ..capture.remote import Answer, RemoteOptions, Tell, check_logdir, worker_addresses
from ..capturing import capture_remote, captured
from ..errors import CaptureError, TfProfError
from ..profiles import Profile
from ..show.widgets import close_unseen, family, note_shown

Capture: TypeAlias = Callable[[Mapping[str, Any], Tell], Any]
"""Captures with the arguments of `capture_remote` and returns the profile."""
Answers: TypeAlias = Mapping[str, Answer | None]

_WORKERS = {"rows": 3, "placeholder": "127.0.0.1:6009"}
_HOST_LEVELS = {"options": (("1: critical events only", 1), ("2: info", 2), ("3: verbose", 3))}
_DEVICE_LEVELS = {"options": (("1: traced", 1), ("0: not traced", 0))}
FIELDS: dict[str, tuple[Callable[..., Any], str, dict[str, Any]]] = {
    "addresses": (ipywidgets.Textarea, "Workers", _WORKERS),
    "duration_ms": (ipywidgets.IntText, "Duration (ms)", {}),
    "host_tracer_level": (ipywidgets.Dropdown, "Host tracer level", _HOST_LEVELS),
    "device_tracer_level": (ipywidgets.Dropdown, "Device tracer level", _DEVICE_LEVELS),
    "delay_ms": (ipywidgets.Text, "Delay (ms)", {}),
    "num_tracing_attempts": (ipywidgets.IntText, "Attempts", {}),
    "logdir": (ipywidgets.Text, "Log directory", {}),
}
"""By option of `capture_remote`: its control, label and what else the control takes."""
MEANINGS = {
    "addresses": "host:port of each worker, one a line or with commas; each runs tfprof.serve(port).",
    "duration_ms": "How long to capture, at most 10 minutes.",
    "host_tracer_level": "How much of each host is traced; tfprof.serve takes 1 as 2.",
    "device_tracer_level": "Whether GPUs and other devices are traced; tfprof.serve always does.",
    "delay_ms": "How far ahead all begin. Empty: 500, or 0 for one worker.",
    "num_tracing_attempts": "How often all are asked while one is busy or has no events.",
    "logdir": "Where the traces are kept. Empty: as long as the profile.",
}
_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(capture_remote).parameters.items()
    if name != "addresses"
}
MOST_ROWS = 100
"""Of workers in the table, those that failed first."""
_NO_CODE = "The line of code that captures the same comes here once no field has a problem."
_INTRODUCTION = "Workers that train now, captured in the same seconds. Cells run meanwhile."
_LOOKS = {"layout": {"width": "auto"}, "style": {"description_width": "initial"}}
_GRID = {"grid_template_columns": "repeat(auto-fill, minmax(260px, 1fr))", "grid_gap": "4px 16px"}
_SCROLLED = {"max_height": "240px", "overflow": "auto"}

_logger = logging.getLogger(__name__)


class CancelledError(Exception):
    """The capture was ended before its time."""


def read_field(name: str, value: Any) -> Any:
    """The argument of `capture_remote` that a field of the dialog stands for."""
    if name == "addresses":
        return worker_addresses(value)
    if name == "logdir":
        return check_logdir(value.strip()) if value.strip() else None
    if name == "delay_ms":
        text = value.strip()
        value = int(text) if text.removeprefix("-").isdecimal() else text or None
    RemoteOptions(**{name: value})
    return value


def code_line(arguments: Mapping[str, Any]) -> str:
    """The call that captures the same, without defaults; a token is a name, as a notebook keeps the line."""
    addresses = ", ".join(map(_literal, arguments["addresses"]))
    others = [
        f"{name}={name if name == 'token' else _literal(arguments[name])}"
        for name, default in _DEFAULTS.items()
        if name == "duration_ms" or arguments.get(name, default) != default
    ]
    return f"tfprof.capture_remote([{addresses}], {', '.join(others)})"


def _literal(value: Any) -> str:
    return json.dumps(str(value), ensure_ascii=False) if isinstance(value, (str, Path)) else repr(value)


def counted(answers: Answers) -> str:
    """How many workers answered, and how many of them failed."""
    n_failed = sum(bool(one and one.failure) for one in answers.values())
    n_answered = sum(bool(one and not one.failure) for one in answers.values())
    failed = f", {n_failed:,} failed" if n_failed else ""
    return f"{n_answered:,} of {len(answers):,} workers answered{failed}"


def rows_html(answers: Answers) -> str:
    """The table of workers, those that failed first."""
    shown = sorted(answers.items(), key=lambda row: not (row[1] and row[1].failure))[:MOST_ROWS]
    head = "".join(f'<th scope="col">{name}</th>' for name in ("Worker", "State", "Trace", "Reason"))
    cut = f"<p>{len(shown):,} of {len(answers):,} workers.</p>" if len(shown) < len(answers) else ""
    body = "".join(_row_html(*row) for row in shown)
    return (
        f'<table style="width: 100%; text-align: left; line-height: 1.4"><tr>{head}</tr>{body}</table>{cut}'
        if body
        else ""
    )


def _row_html(address: str, answer: Answer | None) -> str:
    state = "waiting" if answer is None else "failed" if answer.failure else "answered"
    trace, reason = ("", "") if answer is None else (answer.xspace and size(len(answer.xspace)), answer.failure)
    return (
        f'<tr class="{state}"><td><code>{escape(address)}</code></td><td>{state}</td>'
        f"<td>{trace or ''}</td><td>{escape(reason)}</td></tr>"
    )


class CaptureDialog(ipywidgets.VBox):  # type: ignore[misc]
    """A form for `capture_remote`, a button, and the dashboard of the last capture: what `capture_dialog` gives.

    Captures run in a thread, one at a time; what fails there is told in the form.
    """

    def __init__(self, given: Mapping[str, Any], *, capture: Capture) -> None:
        self._capture, self._given = capture, given
        self._profiles: tuple[Profile, ...] = ()
        self._thread: threading.Thread | None = None
        self._is_running = self._is_closed = False
        self._cancelled = threading.Event()
        self._answers: Answers = {}
        self._replaced: list[Any] = []
        self._controls = {
            name: control(value=_shown_value(given[name]), description=label, **options, **_LOOKS)
            for name, (control, label, options) in FIELDS.items()
        }
        self._hints = {name: ipywidgets.HTML(_small(meaning)) for name, meaning in MEANINGS.items()}
        for name, control in self._controls.items():
            if hasattr(control, "continuous_update"):
                control.continuous_update = False  # what is half written is not wrong yet
            control.observe(lambda _, name=name: self._show_field(name), "value")
        self._capture_button = ipywidgets.Button(description="Capture", button_style="primary")
        self._cancel_button = ipywidgets.Button(description="Cancel", disabled=True)
        self._said, self._problem, self._code = (ipywidgets.HTML() for _ in range(3))
        self._rows = ipywidgets.HTML(layout=_SCROLLED)
        self._result = ipywidgets.VBox()
        super().__init__([self._form(), self._result])
        self._capture_button.on_click(lambda _: self._on_capture())
        self._cancel_button.on_click(lambda _: self.cancel())
        self._show_code()

    def _form(self) -> Any:
        head = ipywidgets.HTML(f"<h3>Capture workers</h3>{_INTRODUCTION}")
        first, *others = (ipywidgets.VBox([self._controls[name], self._hints[name]]) for name in FIELDS)
        row = ipywidgets.HBox([self._capture_button, self._cancel_button, self._said])
        parts = [head, first, ipywidgets.GridBox(others, layout=_GRID), self._code, row, self._problem, self._rows]
        return ipywidgets.VBox(parts).add_class("tfp-cap-form")

    # ---- what it gives ------------------------------------------------------------------------------------------------

    @property
    def profile(self) -> Profile | None:
        """The profile of the last capture that got a trace; None before the first."""
        return self._profiles[-1] if self._profiles else None

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The profiles of all captures that got a trace, oldest first; empty before the first."""
        return self._profiles

    @property
    def code(self) -> str:
        """The call of `capture_remote` that captures the same; empty while a field has a problem."""
        try:
            return code_line(self._arguments())
        except ValueError:
            return ""

    @property
    def is_capturing(self) -> bool:
        """Whether a capture runs."""
        return self._is_running

    # ---- what it does -------------------------------------------------------------------------------------------------

    def capture(self) -> None:
        """Begin a capture with what the fields hold, as the button does, and return at once; `wait` waits for it.

        Raises:
            CaptureError: one is running, or the form was closed.
            ValueError: a field has a problem; the message says which.
        """
        if self._is_closed:
            raise CaptureError("This dialog was closed; make another with tfprof.capture_dialog().")
        if self._is_running:
            raise CaptureError("A capture is running: wait until it has ended, or cancel it.")
        for name in FIELDS:
            self._show_field(name)
        arguments = self._arguments()
        close_unseen(self._replaced)
        self._replaced, self._is_running, self._cancelled = [], True, threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(arguments, self._cancelled), name="tfprof-capture", daemon=True
        )
        self._show(dict.fromkeys(arguments["addresses"]), "")
        self._thread.start()

    def cancel(self) -> None:
        """End the capture that runs, if one does; nothing of it is kept."""
        self._cancel_button.disabled = True
        # Workers with `tfprof.serve` stop at once, TensorFlow's own server when its time is over.
        self._cancelled.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the capture that runs has ended.

        Args:
            timeout_s: for how many seconds at most; None: as long as it takes.

        Returns:
            False where it still runs after that time.
        """
        if self._thread is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Close the widget and end the capture that runs; its profiles stay."""
        if self._is_closed:
            return
        self._is_closed = True
        self.cancel()
        shown = self._shown_data()
        for widget in family(self):
            if widget is not self:
                widget.close()
        super().close()
        close_unseen([*self._replaced, *shown])

    def _on_capture(self) -> None:
        try:
            self.capture()
        except ValueError:
            self._say("Nothing was sent: see the fields.")
        except TfProfError as error:
            self._say(str(error))

    # ---- fields -------------------------------------------------------------------------------------------------------

    def _arguments(self) -> dict[str, Any]:
        found = {name: self._read(name) for name in FIELDS}
        problems = [problem for _, problem in found.values() if problem]
        if problems:
            raise ValueError(" ".join(problems))
        return {**self._given, **{name: value for name, (value, _) in found.items()}}

    def _read(self, name: str) -> tuple[Any, str]:
        try:
            return read_field(name, self._controls[name].value), ""
        except (TfProfError, TypeError, ValueError) as error:
            return None, str(error)

    def _show_field(self, name: str) -> None:
        """Say below a field what it means, or what is wrong with it."""
        problem = self._read(name)[1]
        told = f'<span role="alert"><strong>{escape(problem)}</strong></span>' if problem else MEANINGS[name]
        self._hints[name].value = _small(told)
        self._show_code()

    def _show_code(self) -> None:
        code = escape(self.code)
        self._code.value = (
            f'<code class="tfp-cap-code" style="white-space: pre-wrap">{code}</code>' if code else _NO_CODE
        )

    # ---- a capture, in its thread -------------------------------------------------------------------------------------

    def _run(self, arguments: Mapping[str, Any], cancelled: threading.Event) -> None:
        begin_s, seconds = time.monotonic(), arguments["duration_ms"] / 1e3
        problem = ""

        def hear(answers: Answers) -> None:
            if cancelled.is_set():
                raise CancelledError
            self._show(answers, f" after {time.monotonic() - begin_s:.0f} s")

        try:
            profile = self._capture(arguments, hear)
            self._show(self._answers, "; the traces are read")
            self._take(profile)
            words = f"{counted(self._answers)}; {seconds:g} s captured."
        except CancelledError:
            self._answers, words = {}, "Cancelled; nothing of it is kept."
        except Exception as error:  # else nobody would hear of it
            words = f"{counted(self._answers)}."
            problem = str(error)
            if not isinstance(error, TfProfError):
                _logger.exception("the capture of %s failed", ", ".join(arguments["addresses"]))
                problem = f"{type(error).__name__}: {error}"
        self._is_running = False
        self._show(self._answers, "", problem)
        if not self._is_closed:
            self._say(words)

    def _show(self, answers: Answers, after: str, problem: str = "") -> None:
        """Show how the capture goes on."""
        self._answers = dict(answers)
        if self._is_closed:
            return
        self._say(f"{counted(answers)}{after}.")
        self._rows.value = rows_html(answers)
        self._problem.value = f'<p role="alert">{escape(problem)}</p>' if problem else ""
        self._capture_button.disabled = self._is_running
        self._cancel_button.disabled = not self._is_running or self._cancelled.is_set()

    def _say(self, text: str) -> None:
        self._said.value = f'<span role="status">{escape(text)}</span>'

    def _take(self, profile: Any) -> None:
        """Show a profile in place of the last one, whose dashboard is closed when the next capture begins."""
        if self._is_closed:
            return
        try:
            dashboard = profile.dashboard()
        finally:
            self._profiles += (profile,)
        if self._is_closed:
            return
        self._replaced += self._shown_data()
        number = len(self._profiles)
        at = time.strftime("%H:%M:%S")
        about = f"Capture {number}, {at}: the dialog's <code>.profile</code>, also <code>.profiles[{number - 1}]</code>"
        self._result.children = (ipywidgets.HTML(about), dashboard)

    def _shown_data(self) -> list[Any]:
        return [view.data for view in self._result.children if hasattr(view, "data")]

    # ---- as a widget --------------------------------------------------------------------------------------------------

    def shown_data(self) -> tuple[Any, ...]:
        """What ends when no cell shows it any more: the dialog itself."""
        return (self,)

    def __repr__(self) -> str:
        state = "capturing" if self.is_capturing else plural(len(self._profiles), "capture")
        return f"<CaptureDialog: {state}>"

    _ipython_display_ = None
    """What ipywidgets 7 displays by, which has no `_repr_mimebundle_`."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        note_shown(self)
        return {"text/plain": repr(self), "application/vnd.jupyter.widget-view+json": self.get_view_spec()}


def _small(html: str) -> str:
    return f'<small style="display: block; line-height: 1.4">{html}</small>'


def _shown_value(value: Any) -> Any:
    """An argument as a control holds it."""
    if isinstance(value, tuple):
        return "\n".join(value)
    return value if isinstance(value, int) else "" if value is None else str(value)


def capture_dialog(
    addresses: str | Sequence[str] = "",
    duration_ms: int = 2000,
    *,
    host_tracer_level: int = 2,
    device_tracer_level: int = 1,
    delay_ms: int | None = None,
    num_tracing_attempts: int = 3,
    logdir: str | Path | None = None,
    token: str | None = None,
) -> CaptureDialog:
    """A form in the notebook that captures training processes elsewhere and shows the profile: `capture_remote` as a
    widget.

    It captures in the background: cells run meanwhile. It says which workers answered and why others did not, shows the
    dashboard of the last capture, and the line of code that captures the same.

    Args:
        addresses: what the field begins with, as for `capture_remote`; `""` leaves it empty. The other arguments are
            those of `capture_remote`, too.
        duration_ms: for how many milliseconds to capture, 1 to 600,000.
        host_tracer_level: 1 critical events only, 2 info, 3 verbose.
        device_tracer_level: 1 to trace devices, 0 not to.
        delay_ms: how many milliseconds ahead all begin together.
        num_tracing_attempts: how often all are asked while one has no events to send, or is busy with another capture.
        logdir: keep the traces of each capture as a run of this log directory.
        token: what the workers ask for. It has no field, as a notebook keeps what fields hold, and the line of code
            says `token=token` for it.

    Returns:
        The widget: `.profile` is that of the last capture, `.profiles` those of all, oldest first.

    Raises:
        TypeError: an argument of the wrong type.
        ValueError: an argument out of its range.

    Examples:
        >>> dialog = tfprof.capture_dialog("10.0.0.5:6009", duration_ms=500)
        >>> dialog.code
        'tfprof.capture_remote(["10.0.0.5:6009"], duration_ms=500)'
    """

    options = RemoteOptions(
        duration_ms=duration_ms,
        host_tracer_level=host_tracer_level,
        device_tracer_level=device_tracer_level,
        delay_ms=delay_ms,
        num_tracing_attempts=num_tracing_attempts,
        token=token,
    )
    is_empty = not addresses if not isinstance(addresses, str) else not addresses.strip()
    given = {"addresses": () if is_empty else worker_addresses(addresses), **asdict(options), "logdir": logdir}
    return CaptureDialog(given, capture=_captured)


def _captured(arguments: Mapping[str, Any], tell: Tell) -> Profile:
    options = RemoteOptions(**{name: arguments[name] for name in _DEFAULTS if name != "logdir"})
    return captured(arguments["addresses"], options, logdir=arguments["logdir"], tell=tell)
