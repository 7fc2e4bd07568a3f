"""Fields, a button and what came of pressing it -> one widget; controls of ipywidgets, so it needs no front end of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets

from ...errors import CaptureError, TfProfError
from ...views.widgets.cells import close_unseen, family, note_shown
from ...views.widgets.shell import kernel_shell
from .fields import CaptureFields, Read, code_line
from .rows import counted, rows_html
from .run import Capture, CaptureRun
from .style import DIALOG_CLASS, STYLE

if TYPE_CHECKING:
    from ...profiles import Profile

_NO_CODE = "The line of code that captures the same comes here once no field has a problem."
_INTRODUCTION = "Workers that train now, captured in the same seconds. Cells run meanwhile."


class CaptureDialog(ipywidgets.VBox):  # type: ignore[misc]
    """A form for `capture_remote`, a button, and the dashboard of the last capture: what `capture_dialog` gives.

    Captures run in a thread, one at a time; what fails there is told in the form.
    """

    def __init__(self, given: Mapping[str, Any], *, defaults: Mapping[str, Any], read: Read, capture: Capture) -> None:
        """Begin with `given`; `read` knows the rules of the fields and `capture` captures with what they hold."""
        self._defaults, self._capture = defaults, capture
        self._profiles: tuple[Profile, ...] = ()
        self._run: CaptureRun | None = None
        self._replaced: list[Any] = []
        self._is_closed = False
        self._fields = CaptureFields(given, read=read)
        self._capture_button = ipywidgets.Button(description="Capture", button_style="primary")
        self._cancel_button = ipywidgets.Button(description="Cancel", disabled=True)
        self._said = ipywidgets.HTML()
        self._progress = ipywidgets.FloatProgress(max=1.0, layout={"visibility": "hidden", "width": "auto"})
        self._problem = ipywidgets.HTML()
        self._rows = ipywidgets.HTML()
        self._code = ipywidgets.HTML()
        self._result = ipywidgets.VBox()
        super().__init__([self._form(), self._result])
        self._fields.observe(self._tell_code)
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
        arguments = self._fields.arguments()
        return "" if arguments is None else code_line(arguments, self._defaults)

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
        self._fields.tell_problems()
        arguments = self._fields.arguments()
        if arguments is None:
            problems = filter(None, map(self._fields.problem, self._fields.controls))
            raise ValueError(" ".join(problems))
        close_unseen(self._replaced)
        self._replaced = []
        self._capture_button.disabled, self._cancel_button.disabled = True, False
        self._run = CaptureRun(arguments, capture=self._capture, tell=self._tell, take=self._take)
        self._tell()
        self._run.start()

    def cancel(self) -> None:
        """End the capture that runs, if one does; nothing of it is kept."""
        if self._run is not None:
            self._cancel_button.disabled = True
            self._run.cancel()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the capture that runs has ended.

        Args:
            timeout_s: for how many seconds at most; None: as long as it takes.

        Returns:
            False where it still runs after that time.
        """
        return self._run is None or self._run.wait(timeout_s)

    def close(self) -> None:
        """Close the widget and end the capture that runs; its profiles stay."""
        if self._is_closed:
            return
        self._is_closed = True
        self.cancel()
        shown = [view.data for view in self._result.children if hasattr(view, "data")]
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
        code = self.code
        text = f'<code class="tfp-cap-code">{escape(code)}</code>' if code else f'<span class="soft">{_NO_CODE}</span>'
        self._code.value = text

    def _tell(self) -> None:
        """Show how the capture goes on. Called in its thread but for the first time."""
        run = self._run
        if run is None or self._is_closed:
            return
        rows, moment = run.rows, run.moment
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
        self._replaced += [view.data for view in self._result.children if hasattr(view, "data")]
        number = len(self._profiles)
        at = time.strftime("%H:%M:%S")
        name = escape(self._name())
        text = f"Capture {number}, {at}: <code>{name}.profile</code>, also <code>{name}.profiles[{number - 1}]</code>"
        about = ipywidgets.HTML(f"<p>{text}</p>").add_class(DIALOG_CLASS).add_class("tfp-cap-about")
        self._result.children = (about, dashboard)

    def _name(self) -> str:
        """What the notebook calls this dialog."""
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
        from ...analysis.base.wording import plural

        state = "capturing" if self.is_capturing else plural(len(self._profiles), "capture")
        return f"<CaptureDialog: {state}>"

    _ipython_display_ = None
    """What ipywidgets 7 displays by, which has no `_repr_mimebundle_`."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        note_shown(self)
        return {"text/plain": repr(self), "application/vnd.jupyter.widget-view+json": self.get_view_spec()}
