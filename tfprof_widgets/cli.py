"""`tfprof COMMAND ...` -> the public functions, their answers as text or JSON, and an exit status."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import runpy
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from .errors import CaptureError, TfProfError, without_controls

if TYPE_CHECKING:
    import pandas as pd

    from .comparing import ProfileDiff
    from .loading import WatchedRun
    from .profiles import Profile


TOKEN = "TFPROF_TOKEN"
"""The token's variable, as every user of the machine can read a command line."""
OUTPUTS = {"chrome": "trace.json.gz", "pprof": "costs.pb.gz", "parquet": "tables", "csv": "tables"}
WITHIN, ABOVE, CANNOT_TELL = 0, 1, 3
FEWEST = 6
"""With fewer steps in a run a comparison has no interval."""
QUANTITY = "median step time of b over that of a, of the comparable steps of each run"
_ERROR, _INTERRUPTED, _NO_READER = 2, 130, 141
"""A shell's codes of a failed program, one ended by Ctrl-C, and one whose output has no reader any more."""
_LEAST_RATIO = 0.5
_TOP_ROWS = 20
_TABLES = ("ops", "kernels", "layers", "source_lines", "hlo_ops", "copies")
_WITHOUT_STACKS = 2
"""Rows of the tree by code without lines: the root, and what is of no call stack."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command of these words, by default the process', and return its status; `--json` writes a failure as JSON too."""
    try:
        return _run(sys.argv[1:] if words is None else words)
    except BrokenPipeError:
        _drop_output()
        return _NO_READER
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run(words: Sequence[str]) -> int:
    is_json = "--json" in words  # of words that mean nothing
    try:
        options = make_parser().parse_args(words)
        is_json = options.json
        with options.streams():
            status: int = options.run_command(options)
        return status
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = one_line(f"{error.filename}: {error.strerror}" if error.filename else error)
        write_error(reason)
    except (TfProfError, TypeError, ValueError) as error:
        reason = one_line(error)
        write_error(reason)
    except Exception as error:  # a fault of ours: status 1 would mean something else
        reason = one_line(f"{type(error).__name__}: {error}")
        traceback.print_exc()
    if is_json:
        write_json({"error": reason})
    return _ERROR


# ---- commands: each prints its answer and returns the exit status -----------------------------------------------------


def open_run(path: str) -> Profile:
    """Open what `tfprof.load` opens, but not the folder of a watched training."""
    from .profiles import Profile

    run = _load(path)
    if isinstance(run, Profile):
        return run
    raise TfProfError(
        f"{path} holds a watched training, which has no profile of its own: tfprof report tells of it, and its windows are "
        "runs below that folder"
    )


def _load(path: str) -> Profile | WatchedRun:
    from .loading import load

    return load(path)


def _print(options: argparse.Namespace, document: Callable[[], Any], text: Callable[[], str]) -> int:
    """Print an answer, as JSON if asked for, and return 0."""
    if options.json:
        write_json(document())
    else:
        write_text(text())
    return 0


def print_report(options: argparse.Namespace) -> int:
    """Print the report as Markdown; with `--json` the figures, the advice and the top of the tables."""
    path = options.run
    return _print(options, lambda: report_document(open_run(path)), lambda: _load(path).report())


def print_summary(options: argparse.Namespace) -> int:
    """Print the summary of some thirty lines."""
    run = open_run(options.run)
    return _print(options, lambda: summary_document(run), run.text)


def write_page(options: argparse.Namespace) -> int:
    return _print_written(open_run(options.run).to_html(options.output), options)


def write_files(options: argparse.Namespace) -> int:
    """Write the trace or its tables for another program."""
    run, target = open_run(options.run), options.output or OUTPUTS[options.to]
    write = {
        "chrome": run.to_chrome_trace,
        "pprof": lambda path: run.to_pprof(path, "code" if len(run.tree("code")) > _WITHOUT_STACKS else "scope"),
        "parquet": run.to_parquet,
        "csv": run.to_csv,
    }[options.to]
    return _print_written(write(target), options)


def _print_written(path: Path, options: argparse.Namespace) -> int:
    files = path.iterdir() if path.is_dir() else [path]
    n_bytes = sum(file.stat().st_size for file in files)
    return _print(options, lambda: {"path": str(path), "n_bytes": n_bytes}, lambda: str(path))


def print_rows(options: argparse.Namespace) -> int:
    run = open_run(options.run)
    if options.query is None:
        tables = run.tables
        return _print(options, lambda: _records(tables.frame), lambda: str(tables))
    rows = run.sql(options.query)
    return _print(options, lambda: _records(rows), lambda: rows.to_string(index=False, max_colwidth=60))


def print_checks(options: argparse.Namespace) -> int:
    """Print what `tfprof.doctor()` found; 1 where something needs to be done."""
    from .notebook.doctor_report import doctor

    report = doctor()
    _print(options, lambda: {"is_ok": report.is_ok, "checks": _records(report.frame)}, lambda: str(report))
    return 0 if report.is_ok else 1


def capture_processes(options: argparse.Namespace) -> int:
    """Capture training processes while they train, keep their traces, and print the summary."""
    from .capturing import capture_remote

    place, token = options.output, os.environ.get(TOKEN) or None
    found = capture_remote(options.addresses, duration_ms=options.ms, logdir=place, token=token)
    return _print(
        options,
        lambda: {"path": place, **summary_document(found)},
        lambda: f"{found.text()}\nKept in {place}: tfprof html {place} writes its dashboard.",
    )


def run_served(options: argparse.Namespace) -> int:
    """Run a Python program with a profiler server in its process; its output, errors and exit status are its own."""
    from .capturing import serve

    script = options.program
    if not Path(script).is_file():
        raise CaptureError(f"{script} is no file: give the Python program that trains, then its arguments")
    with serve(options.port, options.host, token=os.environ.get(TOKEN) or None) as server:
        write_error(f"{script} can be profiled at {server.address}: tfprof capture {server.address}")
        sys.argv, sys.path[0] = [script, *options.arguments], str(Path(script).resolve().parent)
        try:
            runpy.run_path(script, run_name="__main__")
        except Exception:  # the program's own, printed as Python prints it
            traceback.print_exc()
            return 1
    return 0


def print_diff(options: argparse.Namespace) -> int:
    """Print the comparison; `ABOVE` if the step of run B surely takes more than `--fail-above` times A's, `WITHIN` if
    surely not, else `CANNOT_TELL`; `TfProfError` for too few steps or an unreadable run."""
    from .comparing import diff

    found, limit = diff(open_run(options.a), open_run(options.b)), options.fail_above
    a, b = names(options.a, options.b)
    found = replace(found, a=a, b=b)
    if limit is not None:
        _check_steps(found, options, limit)
    status = WITHIN if limit is None else _status(found, limit)
    judgement = "" if limit is None else _judgement(found, limit, status)
    is_above = None if limit is None or status == CANNOT_TELL else status == ABOVE
    _print(
        options,
        lambda: diff_document(found, limit=limit, is_above=is_above, judgement=judgement),
        lambda: f"{found}\n{judgement}" if judgement else str(found),
    )
    return status


def _status(found: ProfileDiff, limit: float) -> int:
    low, high = found.step_time_interval
    return ABOVE if low > limit else WITHIN if high <= limit and not found.busy_machine else CANNOT_TELL


def names(a: str, b: str) -> tuple[str, str]:
    """Two paths as typed, without common folders: `runs/before/logs`, `runs/after/logs` -> `before`, `after`."""
    parts = [path.rstrip("/").split("/") for path in (a, b)]
    n_first = _n_alike(*parts)
    n_last = _n_alike(*(one[n_first:][::-1] for one in parts))
    first, second = ("/".join(one[n_first : len(one) - n_last]) for one in parts)
    return (first, second) if first and second else (a, b)


def _n_alike(a: Sequence[str], b: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _check_steps(found: ProfileDiff, options: argparse.Namespace, limit: float) -> None:
    counts = dict(zip((options.a, options.b), _figures(found, "n_steps"), strict=True))
    without = [path for path, count in counts.items() if not count]
    if without:
        raise TfProfError(
            f"--fail-above {limit:g} compares the time of steps, and there are none in {' and in '.join(without)}: "
            "tfprof summary tells how to mark them"
        )
    if _is_beyond_noise(found) is None:  # a training that was cut short must not pass
        few = " and ".join(f"{count:.0f} in {path}" for path, count in counts.items() if count < FEWEST)
        raise TfProfError(
            f"--fail-above {limit:g} compares steps with what they vary by, which takes {FEWEST} comparable steps in each "
            f"run, and there are {few or 'fewer'}: capture more"
        )


def _judgement(found: ProfileDiff, limit: float, status: int) -> str:
    """The compared quantity, its certainty, and its side of the limit."""
    from .analysis.common import number

    (n_a, n_b), (a_ms, b_ms) = _figures(found, "n_steps"), _figures(found, "step_time")
    ratio, (low, high) = found.step_time_ratio, found.step_time_interval
    compared = (
        f"Step time, the median of comparable steps: {number(a_ms)} ms (a, {n_a:.0f} steps) -> {number(b_ms)} ms "
        f"(b, {n_b:.0f} steps), x{ratio:.4g} (95 % {number(low)} to {number(high)})."
    )
    if status == WITHIN:
        return f"{compared}\nWithin the limit of x{limit:g}, with all that noise may hide."
    if status == ABOVE:
        return f"{compared}\nAbove the limit of x{limit:g}, by more than noise."
    busy = found.busy_machine
    why = (
        f"{busy}. Run {'both' if ' and ' in busy else 'it'} again on a free machine."
        if busy
        else "the interval has it inside. Capture more steps, or on a quieter machine, or take a limit beyond the noise."
    )
    return f"{compared}\nCannot tell whether it is above the limit of x{limit:g}: {why}"


def _figures(found: ProfileDiff, metric: str) -> tuple[float, float]:
    row = found.summary[found.summary["metric"] == metric]
    return float(row["a"].iloc[0]), float(row["b"].iloc[0])


def _is_beyond_noise(found: ProfileDiff) -> bool | None:
    """Whether the steps differ by more than noise; None where the runs are too short."""
    low, high = found.step_time_interval
    return None if low != low else not low <= 1 <= high


# ---- documents: what `--json` prints; the names of their fields are a contract ----------------------------------------


def summary_document(profile: Profile) -> dict[str, Any]:
    """How long a step takes, what limits it and what to change."""
    from .show.lists import fields_of

    overview = profile.overview
    return {
        "title": profile.title,
        "notices": list(profile.notices),
        **fields_of(overview, "verdict", "verdict_detail", "limiter", "n_steps", "n_steps_averaged", "is_inferred"),
        "step_time_ms": {name: getattr(overview, f"step_time_{short}_ms") for name, short in _STEP_TIMES.items()}
        if overview.n_steps
        else None,
        "breakdown": _records(overview.breakdown),
        **fields_of(overview.environment, "device_type", "n_devices", "hosts", "n_events", "captured_ms"),
        "advice": _records(profile.advice_table),
    }


_STEP_TIMES = {"mean": "avg", "std": "std", "min": "min", "max": "max"}


def report_document(profile: Profile) -> dict[str, Any]:
    """The same, with the steps and the top of the tables: `n_rows` says of how many rows they are the first."""
    tables = {name: getattr(profile, name) for name in _TABLES}
    return {
        **summary_document(profile),
        "steps": _records(profile.steps),
        "tables": {
            name: {"n_rows": len(table), "rows": _records(table.head(_TOP_ROWS))} for name, table in tables.items()
        },
    }


def diff_document(found: ProfileDiff, *, limit: float | None, is_above: bool | None, judgement: str) -> dict[str, Any]:
    """What changed from one run to the other, and whether the step takes longer than the limit allows; None: cannot tell."""
    return {
        "a": found.a,
        "b": found.b,
        "verdict": found.verdict,
        "notices": list(found.notices),
        "quantity": QUANTITY,
        "ratio": found.step_time_ratio,
        "interval_95": list(found.step_time_interval),
        "is_beyond_noise": _is_beyond_noise(found),
        "fail_above": limit,
        "is_above": is_above,
        "judgement": judgement,
        "summary": _records(found.summary),
    }


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    from .show.lists import records

    return records(frame)


# ---- words ------------------------------------------------------------------------------------------------------------

_RUN = "a run: what tfprof.load opens, such as a log directory, an .xplane.pb or a URL"
_MAIN = """\
usage: tfprof COMMAND ...

Profiles of TensorFlow, JAX and PyTorch/XLA in a terminal, a script or CI.

  summary RUN             how long a step takes, what limits it, what to change
  report RUN              all of it as Markdown, for a person or a language model
  html RUN -o page.html   the dashboard as one page that needs no network
  diff A B                what changed; --fail-above 1.05 for CI
  sql RUN "select ..."    rows of any table; without a query, the tables there are
  export RUN --to FORMAT  chrome (Perfetto), pprof, parquet or csv
  capture HOST:PORT       profile a training that runs elsewhere
  serve train.py          run a training so that it can be captured
  doctor                  will a capture work on this machine?

`tfprof COMMAND --help` tells its options. --json: output and errors for programs.
RUN is what tfprof.load opens: a log directory, an .xplane.pb, a Chrome trace, a URL.
Exit status: 0 done; 1 diff: above the limit, doctor: to do; 2 error; 3 diff: unknown."""
_DIFF = (
    "Print what changed from run A to run B. With --fail-above the exit status is 1 where the median time of the "
    "comparable steps of B is surely more than LIMIT times that of A, 0 where it surely is not, and 3 where noise or a busy "
    "machine does not let it tell; the output says why."
)
_CAPTURE = (
    "Profile training processes while they train: each runs `tfprof serve`, tfprof.serve(port) or TensorFlow's "
    f"profiler server. A token, where they ask for one, is taken from the variable {TOKEN}."
)
_SERVE = (
    "Run a Python program, as `python PROGRAM ...` does, with a profiler server in its process. Who sends a request must send "
    f"the token in the variable {TOKEN}, where that is set; else whoever reaches the port is answered."
)

Command = Callable[[argparse.Namespace], int]


class WordsError(TfProfError):
    """Words that mean nothing."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line that says what to do."""

    def error(self, message: str) -> NoReturn:
        raise WordsError(f"{message}; see {self.prog} --help")


class MainParser(Parser):
    def format_help(self) -> str:
        return f"{_MAIN}\n"


def make_parser() -> Parser:
    """The parser of all commands; what it gives has the command as `run_command`, and its options."""
    from . import __version__

    parser = MainParser(prog="tfprof")
    parser.add_argument("--version", action="version", version=f"tfprof {__version__}")
    commands = parser.add_subparsers(parser_class=Parser, required=True, metavar="COMMAND")

    def add(name: str, command: Command, meaning: str, *, of_run: bool = True) -> Callable[..., object]:
        one: Parser = commands.add_parser(name, description=meaning)
        one.set_defaults(run_command=command, streams=plain_streams)
        one.add_argument("--json", action="store_true", help='print JSON for programs; of an error {"error": "..."}')
        if of_run:
            one.add_argument("run", metavar="RUN", help=_RUN)
        return one.add_argument

    add("summary", print_summary, "Print how long a step takes, what limits it and what to change.")
    add("report", print_report, "Print the report as Markdown, at most 20 kB.")
    option = add("html", write_page, "Write the dashboard as one page that needs no kernel and no network.")
    option("-o", "--output", metavar="PAGE", default="profile.html", help="the page (profile.html)")
    option = add("diff", print_diff, _DIFF, of_run=False)
    option("a", metavar="A", help="the run to compare with")
    option("b", metavar="B", help="the run to judge")
    option("--fail-above", metavar="LIMIT", type=_ratio, help="such as 1.05: at most 5 %% longer steps")
    option = add("sql", print_rows, "Print rows of the tables of a run, asked for in SQL (needs DuckDB).")
    option("query", metavar="QUERY", nargs="?", help="one SELECT; without it, the tables and their columns")
    option = add("export", write_files, "Write the trace or its tables for another program.")
    option("--to", required=True, choices=list(OUTPUTS), help="chrome is also what Perfetto opens")
    written = ", ".join(dict.fromkeys(OUTPUTS.values()))
    option("-o", "--output", metavar="PATH", help=f"the file or, of tables, the folder ({written})")
    option = add("capture", capture_processes, _CAPTURE, of_run=False)
    option("addresses", metavar="HOST:PORT", nargs="+", help="where each listens")
    option("--ms", type=int, default=2000, metavar="N", help="how long, in milliseconds (2000)")
    option("-o", "--output", default="tfprof_logs", metavar="DIR", help="the log directory (tfprof_logs)")
    # Of this one the output, the warnings and the exit status are the program's own.
    serve = commands.add_parser("serve", description=_SERVE)
    serve.set_defaults(run_command=run_served, streams=contextlib.nullcontext, json=False)
    serve.add_argument("--port", type=int, default=6009, metavar="N", help="to listen at (6009); 0 for any free one")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen at (127.0.0.1: this machine alone)")
    serve.add_argument("program", metavar="PROGRAM", help="the program that trains, such as train.py")
    serve.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="what it is given")
    doctor = "Say whether a capture will work on this machine; status 1: something to do."
    add("doctor", print_checks, doctor, of_run=False)
    return parser


def _ratio(text: str) -> float:
    # 0.05 is what somebody writes who means 5 %.
    if re.fullmatch(r"\d+(\.\d*)?|\.\d+", text) is None or not float(text) >= _LEAST_RATIO:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no limit: give a ratio of {_LEAST_RATIO:g} or more, such as 1.05 for 5 % more"
        )
    return float(text)


# ---- output: nothing in it that a terminal takes for a command, errors in one line ------------------------------------


def write_text(text: str) -> None:
    print(without_controls(text), flush=True)  # noqa: T201 -- this is the output


def write_json(value: Any) -> None:
    """Print a value as JSON, in ASCII; what is no number is null."""
    from .show.lists import plain

    print(json.dumps(plain(value), indent=2, allow_nan=False), flush=True)  # noqa: T201 -- this is the output


def write_error(text: object) -> None:
    """Say on standard error what went wrong, in one line."""
    print(f"tfprof: {one_line(text)}", file=sys.stderr, flush=True)  # noqa: T201


def one_line(text: object) -> str:
    return " ".join(without_controls(str(text)).split())


@contextlib.contextmanager
def plain_streams() -> Iterator[None]:
    """In the block no character fails to be written, a warning is a line, and bars need a terminal."""
    from .progress import without_bars

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not the ones that tests put in their place
            stream.reconfigure(errors="backslashreplace")
    with contextlib.ExitStack() as block:
        if not _is_terminal(sys.stdout):
            block.enter_context(without_bars())
        block.enter_context(warnings.catch_warnings())
        warnings.showwarning = lambda message, *_, **__: write_error(message)
        yield


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads it as it comes."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def _drop_output() -> None:
    """Drop unread standard output, so that Python's end does not complain about it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
