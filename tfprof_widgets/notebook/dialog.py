"""The options of `capture_remote` -> a form in the notebook that captures with them and shows the profile."""

from __future__ import annotations

import inspect
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Literal, TypeAlias

import ipywidgets

from ..analysis.common import plural, size
from ..capture.remote import RemoteOptions, Watch, check_logdir, worker_addresses
from ..capturing import capture_remote, captured
from ..errors import CaptureError, TfProfError
from ..profiles import Profile
from ..show.front_end import kernel_shell
from ..show.widgets import close_unseen, family, note_shown

# ---- the options ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """An option of `capture_remote` that has a field."""

    name: str
    label: str
    kind: Literal["int", "text", "lines"] | tuple[tuple[str, int], ...]
    """Type of the field's value, or its choices."""
    meaning: str

    def control(self, value: Any) -> Any:
        if self.kind == "int":
            return ipywidgets.IntText(value, description=self.label)
        if self.kind == "lines":
            text = "\n".join(value)
            return ipywidgets.Textarea(text, description=self.label, rows=3, placeholder="127.0.0.1:6009")
        if self.kind == "text":
            return ipywidgets.Text("" if value is None else str(value), description=self.label)
        return ipywidgets.Dropdown(options=self.kind, value=value, description=self.label)


OPTIONS = (
    Option(
        "addresses",
        "Workers",
        "lines",
        "host:port of each worker, one a line or with commas; each runs tfprof.serve(port).",
    ),
    Option("duration_ms", "Duration (ms)", "int", "How long to capture, at most 10 minutes."),
    Option(
        "host_tracer_level",
        "Host tracer level",
        (("1: critical events only", 1), ("2: info", 2), ("3: verbose", 3)),
        "How much of each host is traced; tfprof.serve takes 1 as 2.",
    ),
    Option(
        "device_tracer_level",
        "Device tracer level",
        (("1: traced", 1), ("0: not traced", 0)),
        "Whether GPUs and other devices are traced; tfprof.serve always does.",
    ),
    Option("delay_ms", "Delay (ms)", "text", "How far ahead all begin. Empty: 500, or 0 for one worker."),
    Option("num_tracing_attempts", "Attempts", "int", "How often all are asked while one is busy or has no events."),
    Option("logdir", "Log directory", "text", "Where the traces are kept. Empty: as long as the profile."),
)
_MEANINGS = {option.name: option.meaning for option in OPTIONS}
_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(capture_remote).parameters.items()
    if name != "addresses"
}


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


class CaptureFields:
    """A field for each option, and below it what it means or what is wrong with it."""

    def __init__(self, given: Mapping[str, Any], changed: Callable[[], None]) -> None:
        """`given` are arguments of `capture_remote`; `changed` is called whenever a field changes."""
        self._controls = {option.name: option.control(given[option.name]) for option in OPTIONS}
        self._without_field = {name: value for name, value in given.items() if name not in self._controls}
        self._hints = {option.name: ipywidgets.HTML(option.meaning).add_class("tfp-cap-hint") for option in OPTIONS}
        for name, control in self._controls.items():
            control.layout.width = "auto"
            if hasattr(control, "continuous_update"):
                control.continuous_update = False  # what is half written is not wrong yet
            control.observe(lambda _, name=name: self._show_problem(name), "value")
            control.observe(lambda _: changed(), "value")
        boxes = [
            ipywidgets.VBox([control, self._hints[name]]).add_class("tfp-cap-field")
            for name, control in self._controls.items()
        ]
        columns = ipywidgets.Layout(grid_template_columns="repeat(auto-fill, minmax(210px, 1fr))")
        self.boxes = boxes[0], ipywidgets.GridBox(boxes[1:], layout=columns).add_class("tfp-cap-fields")
        """The addresses over their whole width, and a grid of the other fields."""

    def arguments(self) -> dict[str, Any]:
        found = {name: self._read(name) for name in self._controls}
        problems = [problem for _, problem in found.values() if problem]
        if problems:
            raise ValueError(" ".join(problems))
        return self._without_field | {name: value for name, (value, _) in found.items()}

    def show_problems(self) -> None:
        """Say beside each field what is wrong with it."""
        for name in self._controls:
            self._show_problem(name)

    def _show_problem(self, name: str) -> None:
        _, problem = self._read(name)
        self._hints[name].value = f'<span role="alert">{escape(problem)}</span>' if problem else _MEANINGS[name]

    def _read(self, name: str) -> tuple[Any, str]:
        try:
            return read_field(name, self._controls[name].value), ""
        except (TfProfError, TypeError, ValueError) as error:
            return None, str(error)


# ---- a capture that runs ----------------------------------------------------------------------------------------------

State: TypeAlias = Literal["asked", "answered", "failed", "dropped"]

MOST_ROWS = 100
"""Of workers in the table, those that failed first."""
_WORDS: dict[State, str] = {"asked": "waiting", "answered": "answered", "failed": "failed", "dropped": "not waited for"}
_ORDER: tuple[State, ...] = ("failed", "asked", "dropped", "answered")


@dataclass(frozen=True)
class WorkerRow:
    address: str
    state: State = "asked"
    n_bytes: int = 0
    reason: str = ""
    """Why it sent no trace; "" unless it failed."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    attempt: int
    n_attempts: int
    delay_s: float
    """Time from asking all to their begin."""
    duration_s: float
    elapsed_s: float
    """Since all were asked."""

    @property
    def ratio(self) -> float:
        """The part of the attempt that is over, from 0 to 1; what workers take to send their traces is not in it."""
        return min(1.0, self.elapsed_s / (self.delay_s + self.duration_s))

    @property
    def words(self) -> str:
        """What goes on now, with the time left."""
        into_s = self.elapsed_s - self.delay_s
        again = f"Attempt {self.attempt} of {self.n_attempts}: " if self.attempt > 1 else ""
        if into_s < 0:
            text = f"all begin in {-into_s:.1f} s"
        elif into_s < self.duration_s:
            text = f"{into_s:.1f} of {self.duration_s:g} s captured"
        else:
            text = f"{self.duration_s:g} s captured, the traces are on their way"
        return again + text if again else text[0].upper() + text[1:]


def counted(rows: Sequence[WorkerRow]) -> str:
    """How many workers answered, and how many of them failed."""
    n_failed = sum(row.state == "failed" for row in rows)
    n_answered = sum(row.state == "answered" for row in rows)
    failed = f", {n_failed:,} failed" if n_failed else ""
    return f"{n_answered:,} of {len(rows):,} workers answered{failed}"


def rows_html(rows: Sequence[WorkerRow]) -> str:
    """The table of workers in the order given, but where it is cut: then those that failed come first."""
    shown = list(rows)
    if len(rows) > MOST_ROWS:
        shown = sorted(rows, key=lambda row: _ORDER.index(row.state))[:MOST_ROWS]
    body = "".join(_row_html(row) for row in shown)
    cut = f"<p>{len(shown):,} of {len(rows):,} workers, those that failed first.</p>" if len(shown) < len(rows) else ""
    head = '<tr><th scope="col">Worker</th><th scope="col">State</th><th scope="col">Trace</th><th scope="col">Reason</th></tr>'
    return f'<div class="tfp-cap-rows"><table><thead>{head}</thead><tbody>{body}</tbody></table>{cut}</div>'


def _row_html(row: WorkerRow) -> str:
    return (
        f'<tr class="{row.state}"><td><code>{escape(row.address)}</code></td><td>{_WORDS[row.state]}</td>'
        f"<td>{size(row.n_bytes) if row.n_bytes else ''}</td><td>{escape(row.reason)}</td></tr>"
    )


Phase: TypeAlias = Literal["capturing", "reading", "done", "failed", "cancelled"]
Capture: TypeAlias = Callable[[Mapping[str, Any], "CaptureRun"], Any]
"""Captures with the arguments of `capture_remote` and returns the profile."""

_logger = logging.getLogger(__name__)
_TELL_EVERY_S = 0.25
"""Front ends drop faster messages."""


class CancelledError(Exception):
    """The capture was ended before its time."""


class CaptureRun(Watch):
    """A capture in a thread of its own, so that the kernel runs cells meanwhile; it hears of its workers as a `Watch`."""

    def __init__(
        self, arguments: Mapping[str, Any], *, capture: Capture, tell: Callable[[], None], take: Callable[[Any], None]
    ) -> None:
        """`tell` is called after each change, `take` with the profile, both in the thread."""
        self._arguments, self._capture, self._tell, self._take = arguments, capture, tell, take
        self.rows = {address: WorkerRow(address) for address in arguments["addresses"]}
        self._attempt, self._delay_s = 0, 0.0
        self._asked_s = self._told_s = time.monotonic()
        self.is_cancelled = threading.Event()
        """Set to end it: workers with `tfprof.serve` stop at once, TensorFlow's own server when its time is over."""
        self.phase: Phase = "capturing"
        self.problem = ""
        """Why there is no profile, or none to see; "" unless something failed."""
        self.thread = threading.Thread(target=self._run, name="tfprof-capture", daemon=True)

    @property
    def is_over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.phase in ("done", "failed", "cancelled")

    @property
    def moment(self) -> Moment:
        return Moment(
            attempt=self._attempt,
            n_attempts=self._arguments["num_tracing_attempts"],
            delay_s=self._delay_s,
            duration_s=self._arguments["duration_ms"] / 1e3,
            elapsed_s=time.monotonic() - self._asked_s,
        )

    def asked(self, attempt: int, delay_ms: int) -> None:
        """All workers have been asked: what they answered before counts no more."""
        self._attempt, self._delay_s, self._asked_s = attempt, delay_ms / 1e3, time.monotonic()
        self.rows = {address: WorkerRow(address) for address in self.rows}
        self._changed()

    def answered(self, answer: Any) -> None:
        state: State = "failed" if answer.failure else "answered"
        self.rows[answer.address] = WorkerRow(answer.address, state, len(answer.xspace), answer.failure)
        self._changed()

    def waiting(self) -> None:
        """End the capture if it was cancelled, and show the time that is left."""
        if self.is_cancelled.is_set():
            raise CancelledError
        if time.monotonic() - self._told_s > _TELL_EVERY_S:
            self._changed()

    def _changed(self) -> None:
        self._told_s = time.monotonic()
        self._tell()

    def _run(self) -> None:
        phase: Phase = "done"
        try:
            profile = self._capture(self._arguments, self)
            self.phase = "reading"
            self._changed()
            self._take(profile)
        except CancelledError:
            phase = "cancelled"
            rows = self.rows.items()
            self.rows = {at: replace(row, state="dropped") if row.state == "asked" else row for at, row in rows}
        except TfProfError as error:
            phase, self.problem = "failed", str(error)
        except Exception as error:  # else nobody would hear of it
            _logger.exception("the capture of %s failed", ", ".join(self.rows))
            phase, self.problem = "failed", f"{type(error).__name__}: {error}"
        self.phase = phase
        self._tell()


# ---- the dialog -------------------------------------------------------------------------------------------------------

_NO_CODE = "The line of code that captures the same comes here once no field has a problem."
_INTRODUCTION = "Workers that train now, captured in the same seconds. Cells run meanwhile."


class CaptureDialog(ipywidgets.VBox):  # type: ignore[misc]
    """A form for `capture_remote`, a button, and the dashboard of the last capture: what `capture_dialog` gives.

    Captures run in a thread, one at a time; what fails there is told in the form.
    """

    def __init__(self, given: Mapping[str, Any], *, capture: Capture) -> None:
        self._capture = capture
        self._profiles: tuple[Profile, ...] = ()
        self._run: CaptureRun | None = None
        self._replaced: list[Any] = []
        self._is_closed = False
        self._fields = CaptureFields(given, self._tell_code)
        self._capture_button = ipywidgets.Button(description="Capture", button_style="primary")
        self._cancel_button = ipywidgets.Button(description="Cancel", disabled=True)
        self._said, self._problem, self._rows, self._code = (ipywidgets.HTML() for _ in range(4))
        self._progress = ipywidgets.FloatProgress(max=1.0, layout={"visibility": "hidden", "width": "auto"})
        self._result = ipywidgets.VBox()
        super().__init__([self._form(), self._result])
        self._capture_button.on_click(lambda _: self._on_capture())
        self._cancel_button.on_click(lambda _: self.cancel())
        self._tell_code()

    def _form(self) -> Any:
        head = ipywidgets.HTML(f'<style>{STYLE}</style><h3>Capture workers</h3><p class="soft">{_INTRODUCTION}</p>')
        row = ipywidgets.HBox([self._capture_button, self._cancel_button, self._said]).add_class("tfp-cap-run")
        parts = [head, *self._fields.boxes, self._code, row, self._progress, self._problem, self._rows]
        return ipywidgets.VBox(parts).add_class(DIALOG_CLASS).add_class("tfp-cap-form")

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
            return code_line(self._fields.arguments())
        except ValueError:
            return ""

    @property
    def is_capturing(self) -> bool:
        """Whether a capture runs."""
        return self._run is not None and not self._run.is_over

    # ---- what it does -------------------------------------------------------------------------------------------------

    def capture(self) -> None:
        """Begin a capture with what the fields hold, as the button does, and return at once; `wait` waits for it.

        Raises:
            CaptureError: one is running, or the form was closed.
            ValueError: a field has a problem; the message says which.
        """
        if self._is_closed:
            raise CaptureError("This dialog was closed; make another with tfprof.capture_dialog().")
        if self.is_capturing:
            raise CaptureError("A capture is running: wait until it has ended, or cancel it.")
        self._fields.show_problems()
        arguments = self._fields.arguments()
        close_unseen(self._replaced)
        self._replaced = []
        self._capture_button.disabled, self._cancel_button.disabled = True, False
        self._run = CaptureRun(arguments, capture=self._capture, tell=self._tell, take=self._take)
        self._tell()
        self._run.thread.start()

    def cancel(self) -> None:
        """End the capture that runs, if one does; nothing of it is kept."""
        if self._run is not None:
            self._cancel_button.disabled = True
            self._run.is_cancelled.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the capture that runs has ended.

        Args:
            timeout_s: for how many seconds at most; None: as long as it takes.

        Returns:
            False where it still runs after that time.
        """
        if self._run is None:
            return True
        self._run.thread.join(timeout_s)
        return not self._run.thread.is_alive()

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

    # ---- what it says -------------------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self._said.value = f'<span role="status">{escape(text)}</span>'

    def _tell_code(self) -> None:
        code = escape(self.code)
        self._code.value = (
            f'<code class="tfp-cap-code">{code}</code>' if code else f'<span class="soft">{_NO_CODE}</span>'
        )

    def _tell(self) -> None:
        """Show how the capture goes on. Called in its thread but for the first time."""
        run = self._run
        if run is None or self._is_closed:
            return
        rows, moment = tuple(run.rows.values()), run.moment
        words = {
            "capturing": f"{counted(rows)}. {moment.words}.",
            "reading": f"{counted(rows)}. The traces are read.",
            "done": f"{counted(rows)}; {moment.duration_s:g} s captured.",
            "failed": f"{counted(rows)}.",
            "cancelled": "Cancelled; nothing of it is kept.",
        }
        self._say(words[run.phase])
        self._progress.value = 0.0 if run.is_over else moment.ratio
        self._progress.layout.visibility = "hidden" if run.is_over else "visible"
        self._problem.value = f'<p class="tfp-cap-notice" role="alert">{escape(run.problem)}</p>' if run.problem else ""
        self._rows.value = rows_html(rows)
        self._capture_button.disabled = not run.is_over
        self._cancel_button.disabled = run.phase != "capturing"

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
        name = escape(self._name())
        text = f"Capture {number}, {at}: <code>{name}.profile</code>, also <code>{name}.profiles[{number - 1}]</code>"
        about = ipywidgets.HTML(f"<p>{text}</p>").add_class(DIALOG_CLASS).add_class("tfp-cap-about")
        self._result.children = (about, dashboard)

    def _shown_data(self) -> list[Any]:
        return [view.data for view in self._result.children if hasattr(view, "data")]

    def _name(self) -> str:
        """The dialog's variable in the notebook."""
        found = kernel_shell()
        names = dict(found.user_ns) if found is not None else {}
        own = next((name for name, value in names.items() if value is self and not name.startswith("_")), "")
        shown = next((f"Out[{n}]" for n, value in dict(names.get("Out", {})).items() if value is self), "dialog")
        return own or shown

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


def _captured(arguments: Mapping[str, Any], run: CaptureRun) -> Profile:
    options = RemoteOptions(**{name: arguments[name] for name in _DEFAULTS if name != "logdir"})
    return captured(arguments["addresses"], options, logdir=arguments["logdir"], watch=run)


# ---- how it looks -----------------------------------------------------------------------------------------------------

DIALOG_CLASS = "tfp-cap"
"""Of the form and the texts above a dashboard, which has a style of its own."""

_DARK = 'body[data-jp-theme-light="false"]', "body.vscode-dark", 'html[theme="dark"] body'
_DARK_DIALOG = ", ".join(f"{page} .{DIALOG_CLASS}" for page in _DARK)

STYLE = f"""
.tfp-cap {{
  --bg: var(--jp-layout-color1, #ffffff);
  --ink: var(--jp-ui-font-color1, rgba(0, 0, 0, 0.87));
  --ink-2: var(--jp-ui-font-color2, rgba(0, 0, 0, 0.6));
  --rule: var(--jp-border-color2, #e0e0e0);
  --act: var(--jp-brand-color1, #1976d2);
  --warn: #8a5300;
  --warn-wash: #fff4df;
}}
{_DARK_DIALOG} {{
  --bg: var(--jp-layout-color1, #212121);
  --ink: var(--jp-ui-font-color1, rgba(255, 255, 255, 0.92));
  --ink-2: var(--jp-ui-font-color2, rgba(255, 255, 255, 0.66));
  --rule: var(--jp-border-color2, #3d3d3d);
  --act: var(--jp-brand-color1, #4aa8f7);
  --warn: #ffca70;
  --warn-wash: #3a2f1a;
}}
"""
STYLE += """
.tfp-cap { color: var(--ink); background: var(--bg); overflow: hidden; }
.tfp-cap.widget-html, .tfp-cap .widget-html, .tfp-cap .widget-html-content { margin: 0; height: auto; overflow: visible; }
.tfp-cap .widget-html-content { font-size: 12px; line-height: 16px; color: var(--ink); }
.tfp-cap.tfp-cap-form { padding: 8px 10px; border: 1px solid var(--rule); overflow: hidden; }
.tfp-cap h3 { margin: 0; font-size: 15px; font-weight: 600; line-height: 20px; }
.tfp-cap p { margin: 2px 0; }
.tfp-cap .soft, .tfp-cap .tfp-cap-hint { color: var(--ink-2); }
/* Label over control over hint, whatever the control. */
.tfp-cap .widget-inline-hbox { flex-direction: column; align-items: stretch; height: auto; margin: 0; width: auto; }
.tfp-cap .widget-inline-hbox .widget-label {
  width: auto; text-align: left; line-height: 18px; height: 18px; margin: 0; font-size: 12px; font-weight: 600; color: var(--ink);
}
.tfp-cap .widget-inline-hbox > :is(input, textarea, select) { width: 100%; font-size: 12px; }
.tfp-cap .widget-inline-hbox > :is(input, select) { height: 24px; line-height: 22px; flex: none; }
.tfp-cap textarea { font-family: var(--jp-code-font-family, monospace); line-height: 17px; }
.tfp-cap .tfp-cap-fields { column-gap: 16px; row-gap: 4px; }
/* Two lines are kept: a sentence that comes when a field is left must not move the button that is pressed. */
.tfp-cap .tfp-cap-hint .widget-html-content {
  font-size: 11px; line-height: 15px; min-height: 30px; padding-top: 1px; color: var(--ink-2);
}
.tfp-cap .tfp-cap-hint [role="alert"] { color: var(--warn); font-weight: 600; }
.tfp-cap .tfp-cap-run { align-items: center; column-gap: 8px; overflow: hidden; margin: 4px 0; }
.tfp-cap.tfp-cap-about .widget-html-content { padding: 6px 10px 2px; }
.tfp-cap .jupyter-button { height: 26px; line-height: 24px; margin: 0; font-size: 12px; }
.tfp-cap .widget-hprogress { margin: 0; width: 100%; }
.tfp-cap .widget-hprogress > .progress { height: 4px; flex: none; width: 100%; margin: 0; }
.tfp-cap code { font: 11px/16px var(--jp-code-font-family, monospace); background: none; color: var(--ink); padding: 0; }
.tfp-cap .tfp-cap-code { user-select: all; overflow-wrap: anywhere; white-space: pre-wrap; }
.tfp-cap .tfp-cap-notice {
  background: var(--warn-wash); border-left: 3px solid var(--warn); padding: 4px 8px; margin: 4px 0; overflow-wrap: anywhere;
}
.tfp-cap .tfp-cap-rows { max-height: 232px; overflow: auto; margin-top: 4px; }
.tfp-cap .tfp-cap-rows table { width: 100%; border-collapse: collapse; font-size: 12px; margin: 0; table-layout: auto; }
.tfp-cap .tfp-cap-rows :is(th, td) {
  text-align: left; padding: 0 12px 0 0; line-height: 20px; border-bottom: 1px solid var(--rule);
  background: none; vertical-align: top; color: var(--ink); white-space: nowrap; max-width: none;
}
.tfp-cap .tfp-cap-rows :is(th, td):nth-child(3) { text-align: right; font-variant-numeric: tabular-nums; }
.tfp-cap .tfp-cap-rows :is(th, td):last-child { width: 100%; white-space: normal; overflow-wrap: anywhere; padding-right: 0; }
.tfp-cap .tfp-cap-rows th { color: var(--ink-2); font-weight: 400; }
.tfp-cap .tfp-cap-rows tr.failed td { color: var(--warn); }
.tfp-cap .tfp-cap-rows tr.asked td:nth-child(2) { color: var(--ink-2); }
"""
