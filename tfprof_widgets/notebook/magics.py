"""`%%tfprofile` above a cell, `%tfprofile` before a statement -> the code profiled, the profile displayed."""

from __future__ import annotations

import ast
import functools
import io
import keyword
import logging
import re
import sys
import tokenize
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
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
from ..show.front_end import kernel_shell
from ..watching import Watch, watch_options
from .doctor_report import doctor

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ..analysis.comparison.changes import Pace
    from ..capture.record import CaptureOptions


# mypy: disable-error-code="untyped-decorator"


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
        """Of cells that name none."""

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
        with watch:
            value = code.run(self.shell.user_ns, local_ns)
        if local_ns is not None:
            return value
        if value is not None:
            sys.displayhook(value)
        return None

    def _compile(self, line: str, cell: str | None, statement: str) -> CellCode:
        try:
            if cell is None:
                code = self.shell.transform_cell(statement)
                return _compiled(self.shell, code, "<tfprofile>", displays=not _is_quiet(statement))
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
        """The profile to compare with, looked up before the code may assign its name anew."""
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
        from ..capture.record import CaptureOptions

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
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise UsageError(f"-o {name}: not a name of a variable.")


def _system(arguments: Namespace) -> bool | float:
    if arguments.system is None:
        return not arguments.no_system
    if arguments.no_system:
        raise UsageError("--system and --no-system contradict each other; give one of them.")
    return float(arguments.system)


def show(profile: Profile, view: str, line: StatusLine) -> None:
    """Display a profile, or one view of it, in the line's place (in a terminal its text); never raises."""
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
    """Display what changed, or the profile where they cannot be compared, in the line's place; never raises."""
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
    """Display what `doctor()` finds."""
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
    """Put the magics into a shell; a second call replaces them. Has TensorFlow record CPU memory from now on."""
    from ..capture.record import enable_cpu_memory_recording

    enable_cpu_memory_recording()
    shell.register_magics(TfprofMagics)
    if lone_help not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(lone_help)


def unregister(shell: InteractiveShell) -> None:
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("tfprofile", None)
    if lone_help in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(lone_help)


# ---- the line of a magic --------------------------------------------------------------------------------------------

_OPTION = re.compile(r"\s*(-{1,2}[A-Za-z][\w-]*)")
_VALUE = re.compile(r"""\s*=?\s*("[^"]*"|'[^']*'|[^\s=]\S*)""")


def split_options(line: str) -> tuple[list[str], str]:
    """Split the options at the begin of a line from the statement behind them, whose text stays as it is."""
    actions = TfprofMagics.tfprofile.parser._actions
    flags = {text for action in actions if action.nargs == 0 for text in action.option_strings}
    options: list[str] = []
    position = 0
    while match := _OPTION.match(line, position):
        options.append(match.group(1))
        position = match.end()
        if match.group(1) in flags:
            continue
        value = _VALUE.match(line, position)
        if value is None:
            raise UsageError(f"{match.group(1)} needs a value; `%%tfprofile --help` prints the options.")
        options.append(value.group(1).strip("\"'"))
        position = value.end()
    rest = line[position:].strip()
    return options, rest[2:].strip() if rest.startswith("-- ") else rest


def parse_steps(text: str) -> range:
    """Return the range that `A:B` or `A:B:C` means; `A` alone is that one step, `:B` begins at 0."""
    match = re.fullmatch(r"(\d*)(?::(\d+)(?::(\d+))?)?", text.strip())
    if match is None or not text.strip() or (match.group(3) is not None and int(match.group(3)) == 0):
        raise UsageError(f"--steps {text}: give a range such as 10:20 (steps 10 to 19), or 0:100:10.")
    first = int(match.group(1) or 0)
    stop = first + 1 if match.group(2) is None else int(match.group(2))
    if stop <= first:
        raise UsageError(f"--steps {text} selects no step: its end must be greater than its begin.")
    return range(first, stop, int(match.group(3) or 1))


_OTHERS = ("steps", "max_seconds", "max_bytes", "no_system", "system", "view", "compare")


def watch_of(arguments: Namespace, logdir: str | None) -> Watch:
    given = [f"--{name.replace('_', '-')}" for name in _OTHERS if getattr(arguments, name) not in (None, False)]
    if given:
        raise ValueError(f"--live watches the whole cell and shows its own widget: leave out {' and '.join(given)}.")
    options = watch_options(
        every=arguments.every, every_seconds=arguments.every_seconds, logdir=logdir, detail=arguments.detail or "normal"
    )
    return Watch(options, title=arguments.out or "")


# ---- the code below or behind it ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CellCode:
    """Compiled statements, and the last expression apart from them."""

    body: CodeType
    last: CodeType | None
    """The last expression, if its value is displayed."""

    def run(self, global_ns: dict[str, Any], local_ns: dict[str, Any] | None) -> Any:
        """Run it all and return the value of the last expression; None where there is none to display."""
        __tracebackhide__ = True
        exec(self.body, global_ns, local_ns)
        return None if self.last is None else eval(self.last, global_ns, local_ns)


def compile_cell(shell: InteractiveShell, source: str, *, magic_line: str, raw_cell: str) -> CellCode:
    """Compile the body of a cell magic, with the line numbers that it has in the whole cell."""
    # Above the first statement: what IPython cut off before the magic, the magic's own line, what it cuts off below.
    raw, body = (
        raw_cell.rstrip("\n"),
        source.rstrip("\n"),
    )  # IPython's history has no newline at the end, magics get one
    above = raw.removesuffix(body).count("\n") if body and raw.endswith(body) else 1
    n_blank = source[: len(source) - len(source.lstrip())].count("\n")
    code = "\n" * (above - 1) + f"# {magic_line}\n" + "\n" * n_blank + shell.transform_cell(source)
    # Not `execution_count`: IPython 9 has raised it by the time the cell runs.
    name = shell.compile.cache(code, shell.displayhook.prompt_count, raw_code=raw_cell)
    return _compiled(shell, code, name, displays=shell.ast_node_interactivity != "none" and not _is_quiet(source))


def _compiled(shell: InteractiveShell, code: str, name: str, *, displays: bool) -> CellCode:
    try:
        tree = shell.transform_ast(shell.compile.ast_parse(code, filename=name))
        last = None
        if displays and tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        compiler: Callable[..., CodeType] = shell.compile
        return CellCode(
            body=compiler(tree, name, "exec"), last=compiler(last, name, "eval") if last is not None else None
        )
    except SyntaxError as error:
        if error.msg and "outside" in error.msg and ("await" in error.msg or "async" in error.msg):
            raise TfProfError(
                f"Line {error.lineno} awaits at the top of the cell, and IPython runs magics without an event loop of "
                "their own. Use `with tfprof_widgets.profile() as prof:` in a plain cell; there `await` works."
            ) from None
        raise


def _is_quiet(source: str) -> bool:
    """Whether the source ends with a semicolon, by which notebooks ask not to display the last value."""
    skipped = {tokenize.ENDMARKER, tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.DEDENT, tokenize.INDENT}
    last = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type not in skipped:
                last = token.string
    except (tokenize.TokenError, SyntaxError):  # lines such as `!ls` are no Python
        return source.rstrip().endswith(";")
    return last == ";"


# ---- the last run of a cell -----------------------------------------------------------------------------------------

_MOST_CELLS = 1_000


class LastRuns:
    """Keeps of each cell the step times of its last run, some kilobytes; no profile."""

    def __init__(self) -> None:
        self._paces: dict[str, Pace] = {}

    def take(self, cell: str, profile: Profile) -> None:
        """Give a profile the comparison with the last run of its cell, and remember its own pace."""
        from ..analysis.comparison.changes import pace_of
        from ..analysis.comparison.words import since_last

        try:
            results = profile.run.results
            if not results.has_events or not results.is_averaged.any():
                return
            pace, before = pace_of(results), self._paces.pop(cell, None)
            if before is not None:
                profile.run.since_last = since_last(before, pace)
        except Exception as error:  # the user's cell has run
            if not isinstance(error, TfProfError):  # which the profile tells itself
                logger.exception("the run cannot be compared with the last one")
            return
        self._paces[cell] = pace
        if len(self._paces) > _MOST_CELLS:
            del self._paces[next(iter(self._paces))]


def cell_of(source: str, *, is_cell: bool) -> str:
    """What stays the same when a cell is changed and run again: its id where the front end sends one, else its text."""
    shell = kernel_shell()
    cell = shell.kernel.get_parent().get("metadata", {}).get("cellId") if shell is not None else None
    return f"{cell}\n{'' if is_cell else source}" if cell else source
