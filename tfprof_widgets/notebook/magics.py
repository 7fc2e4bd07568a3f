"""magics: `%%tfprofile` above a cell, `%tfprofile` before a statement -> the code profiled, the profile displayed."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import functools
import keyword
import logging
import re
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display

from ..capturing import capturing
from ..comparing import diff
from ..errors import TfProfError
from ..profiles import Profile
from ..progress import READING, StatusLine, status_line
from ..views.widgets.shell import kernel_shell
from ..watching import watching
from .cell import CellCode, compile_cell, compile_statement
from .doctor_report import doctor
from .last_runs import LastRuns, cell_of
from .live_cell import watch_of
from .options import parse_steps, split_options
from .warming import warm_when_idle

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ..capture.session.record import CaptureOptions

logger = logging.getLogger(__name__)

VIEWS = ("dashboard", "compact", "timeline", "memory", "ops", "input", "none")

_LONE_OPTION = re.compile(r"%%tfprofile\s(?:.*\s)?(--check|--help|-h)(\s.*)?$")


@magics_class
class TfprofMagics(Magics):  # type: ignore[misc]
    """The magics of tfprof_widgets."""

    def __init__(self, shell: InteractiveShell | None = None, **traits: Any) -> None:
        super().__init__(shell, **traits)
        self._last_runs = LastRuns()
        self._view = VIEWS[0]
        """What cells display that name no view."""

    @magic_arguments()
    @argument("-o", "--out", metavar="NAME", help="Assign the profile to this variable, also when the code fails.")
    @argument(
        "--live",
        action="store_true",
        help="Watch the cell: a widget shows every step as it comes and profiles those that go wrong. With --every N and "
        "--every-seconds S some steps are profiled besides; -o NAME is the Watch.",
    )
    @argument("--steps", metavar="A:B", help="Capture steps A to B-1 only, counted from 0; A:B:C takes every C-th.")
    @argument("--every", metavar="N", type=int, help="Capture only steps whose number is a multiple of N.")
    @argument("--every-seconds", metavar="S", type=float, help="Capture one step every S seconds.")
    @argument("--max-seconds", metavar="S", type=float, help="Stop capturing after S seconds (default: 60).")
    @argument(
        "--max-bytes", metavar="N", type=float, help="Stop capturing at about N bytes of files (default: 32 MiB)."
    )
    @argument("--no-system", action="store_true", help="Do not sample CPU, memory, disk, network and GPUs.")
    @argument("--system", metavar="HZ", type=float, help="Sample them so often, 5 to 20 Hz (default: 10).")
    @argument(
        "--detail",
        metavar="LEVEL",
        help="Record low (cheaper on a CPU), normal or high detail of each step (default: normal).",
    )
    @argument("--logdir", metavar="DIR", help="Keep TensorFlow's files there, in TensorBoard's layout.")
    @argument(
        "--view",
        metavar="VIEW",
        choices=VIEWS,
        help="What to display: dashboard (all views), compact (step time, steps and the first advice; the rest at a click), "
        "timeline, memory, ops, input or none. Alone on a line, `%%tfprofile --view compact`, it is what all cells display "
        "that name no view (default: dashboard).",
    )
    @argument(
        "--compare",
        metavar="NAME",
        help="Display what changed against the profile in this variable, instead of the profile; -o may name the same one.",
    )
    @argument("--check", action="store_true", help="Check what a capture will see here, run nothing.")
    @argument("-h", "--help", action="store_true", help="Print this and run nothing.")
    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def tfprofile(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """Profile TensorFlow code: `%%tfprofile [options]` above a cell, or `%tfprofile [options] statement`.

        Keras' fit, evaluate and predict mark their steps by themselves. The code keeps its meaning: its variables, the
        value of its last expression, its line numbers and its exceptions. What was captured before a failure or an
        interrupt is displayed, and the exception goes on.
        """
        __tracebackhide__ = True
        options, statement = split_options(line)
        # Not `parse_argstring`: it splits the line by its own rules, and keeps quotes.
        arguments = self.tfprofile.parser.parse_args(options)
        if arguments.help:
            display({"text/plain": self.tfprofile.__doc__}, raw=True)
            return None
        if arguments.check:
            check(runs_code=bool(statement or cell))
            return None
        if cell is not None and statement:
            raise UsageError(f"%%tfprofile takes options only, not {statement!r}; the code goes below it.")
        if cell is None and not statement:
            if options == ["--view", arguments.view]:
                self._view = arguments.view
                told = f"Cells that name no view display {arguments.view} from now on."
                display({"text/plain": told}, raw=True)
                return None
            raise UsageError("%tfprofile needs a statement behind it, such as `%tfprofile model.fit(x, y)`.")
        if arguments.live:
            return self._watch(arguments, self._compile(line, cell, statement), None if cell is not None else local_ns)
        capture_options = self._capture_options(arguments)
        before = self._compared(arguments)
        arguments.view = arguments.view or self._view
        code = self._compile(line, cell, statement)
        with status_line() as status:
            source = cell_of(cell or statement, is_cell=cell is not None)
            deliver = functools.partial(self._deliver, arguments, source, before, status)
            with capturing(capture_options, status, on_failure=deliver, title=arguments.out or "profile") as profile:
                value = code.run(self.shell.user_ns, None if cell is not None else local_ns)
            if cell is not None and value is not None:
                # As IPython does for a cell without a magic: prints `Out[n]`, sets `_`. After the capture, not within.
                sys.displayhook(value)
            deliver(profile)
        return value if cell is None else None

    def _watch(self, arguments: Namespace, code: CellCode, local_ns: dict[str, Any] | None) -> Any:
        """Run code while it is watched; the value of a statement."""
        _check_out(arguments.out)
        logdir = None if arguments.logdir is None else self.shell.var_expand(arguments.logdir, 3)
        try:
            watch = watch_of(arguments, logdir)
        except (TypeError, ValueError) as error:
            raise UsageError(str(error)) from None
        if arguments.out:
            self.shell.user_ns[arguments.out] = watch
        with status_line() as status, watching(watch, status):
            value = code.run(self.shell.user_ns, local_ns)
        if local_ns is not None:
            return value
        if value is not None:
            sys.displayhook(value)
        return None

    def _compile(self, line: str, cell: str | None, statement: str) -> CellCode:
        try:
            if cell is None:
                return compile_statement(self.shell, statement)
            magic_line = f"%%tfprofile {line}".rstrip()
            manager = self.shell.history_manager
            history = manager.input_hist_raw if manager is not None else [""]
            is_last = history[-1].rstrip("\n").endswith(cell.rstrip("\n"))
            raw_cell = history[-1] if is_last else f"{magic_line}\n{cell}"
            return compile_cell(self.shell, cell, magic_line=magic_line, raw_cell=raw_cell)
        except TfProfError as error:
            raise UsageError(str(error)) from None

    def _deliver(
        self, arguments: Namespace, source: str, before: Profile | None, line: StatusLine, profile: Profile
    ) -> None:
        if arguments.out:
            self.shell.user_ns[arguments.out] = profile
        if before is not None:
            show_changes(before, profile, line)
        elif arguments.view != "none":
            line.begin(READING)
            self._last_runs.take(source, profile)
            show(profile, arguments.view, line)

    def _compared(self, arguments: Namespace) -> Profile | None:
        """The profile to compare with, looked up before the code runs and may assign the name anew."""
        name = arguments.compare
        if name is None:
            return None
        if arguments.view is not None:
            raise UsageError(f"--compare displays the comparison: leave out --view {arguments.view}.")
        if name not in self.shell.user_ns:
            once = " Run the cell once without --compare." if name == arguments.out else ""
            raise UsageError(f"--compare {name}: there is no such variable. `%%tfprofile -o {name}` makes it.{once}")
        found = self.shell.user_ns[name]
        if not isinstance(found, Profile):
            raise UsageError(
                f"--compare {name}: that is a {type(found).__name__}, not a profile as `%%tfprofile -o {name}` makes it."
            )
        return found

    def _capture_options(self, arguments: Namespace) -> CaptureOptions:
        from ..capture.session.record import CaptureOptions

        _check_out(arguments.out)
        logdir = arguments.logdir
        try:
            return CaptureOptions(
                steps=None if arguments.steps is None else parse_steps(arguments.steps),
                every=arguments.every,
                every_seconds=arguments.every_seconds,
                system=_system(arguments),
                detail=arguments.detail or "normal",
                logdir=None if logdir is None else self.shell.var_expand(logdir, 3),
                max_seconds=arguments.max_seconds,
                max_bytes=None if arguments.max_bytes is None else int(arguments.max_bytes),
                command="%%tfprofile",
            )
        except (TypeError, ValueError) as error:
            raise UsageError(str(error)) from None


def _check_out(name: str | None) -> None:
    """Refuse what is no name of a variable."""
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise UsageError(f"-o {name}: not a name of a variable.")


def _system(arguments: Namespace) -> bool | float:
    if arguments.system is None:
        return not arguments.no_system
    if arguments.no_system:
        raise UsageError("--system and --no-system contradict each other; give one of them.")
    return float(arguments.system)


def show(profile: Profile, view: str, line: StatusLine) -> None:
    """Display a profile, or one view of it, in the line's place; in a terminal always its text.

    Never raises: the user's cell has run.
    """
    views: dict[str, Callable[[], Any]] = {
        "compact": lambda: profile.dashboard(compact=True),
        "timeline": profile.timeline,
        "memory": profile.memory_timeline,
        "ops": profile.op_table,
        "input": profile.input_graph,
    }
    try:
        line.display(views[view]() if view in views and kernel_shell() is not None else profile)
    except Exception as error:  # a display that fails must not make the user's finished training a failed cell
        if not isinstance(error, TfProfError):
            logger.exception("the profile cannot be displayed")
        line.display({"text/plain": f"tfprof: the profile cannot be displayed: {error}"}, raw=True)


def show_changes(before: Profile, profile: Profile, line: StatusLine) -> None:
    """Display what changed, or the profile where they cannot be compared, in the line's place.

    Never raises: the user's cell has run.
    """
    line.begin(READING)
    try:
        changes = diff(before, profile)
        str(changes)  # computes what is displayed: here a failure is caught
        line.display(changes)
    except Exception as error:  # a display that fails must not make the user's finished training a failed cell
        if not isinstance(error, TfProfError):
            logger.exception("the profiles cannot be compared")
        line.display({"text/plain": f"tfprof: the profiles cannot be compared: {error}"}, raw=True)
        show(profile, VIEWS[0], line)


def check(*, runs_code: bool) -> None:
    """Display what `doctor()` finds.

    Raises:
        UsageError: there is code too, which nobody would run.
    """
    if runs_code:
        raise UsageError("--check runs no code: put `%tfprofile --check` on a line of its own.")
    display(doctor())


def lone_help(lines: list[str]) -> list[str]:
    """Turn a lone `%%tfprofile --help` or `--check` into the line magic: IPython refuses a cell magic without a body."""
    option = _LONE_OPTION.match(lines[0].rstrip()) if lines else None
    if option is None or "".join(lines[1:]).strip():
        return lines
    return ["%tfprofile --check\n" if option.group(1) == "--check" else "%tfprofile --help\n"]


def register(shell: InteractiveShell) -> None:
    """Put the magics into a shell; a second call replaces them. Has TensorFlow record CPU memory from now on.

    What displays need is loaded while the kernel is idle.
    """
    from ..capture.session.environment import enable_cpu_memory_recording

    enable_cpu_memory_recording()
    shell.register_magics(TfprofMagics)
    if lone_help not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(lone_help)
    warm_when_idle()


def unregister(shell: InteractiveShell) -> None:
    """Take the magics out of a shell."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("tfprofile", None)
    if lone_help in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(lone_help)
