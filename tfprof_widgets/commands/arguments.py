"""The words of a command line -> what is to be done: the commands, their options and their help."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Callable
from typing import NoReturn

from ..errors import TfProfError
from . import machine, one_run, processes, queries, two_runs
from .terminal import plain_streams

_LEAST_RATIO = 0.5
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

_SERVE = (
    "Run a Python program, as `python PROGRAM ...` does, with a profiler server in its process. Who sends a request must send "
    f"the token in the variable {processes.TOKEN}, where that is set; else whoever reaches the port is answered."
)

Command = Callable[[argparse.Namespace], int]


class WordsError(TfProfError):
    """Words that mean nothing."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line that says what to do."""

    def error(self, message: str) -> NoReturn:
        """Refuse the words."""
        raise WordsError(f"{message}; see {self.prog} --help")


class MainParser(Parser):
    """The parser of the first word."""

    def format_help(self) -> str:
        """All commands on a screen."""
        return f"{_MAIN}\n"


def make_parser() -> Parser:
    """The parser of all commands; what it gives has the command as `run_command`, and its options."""
    from .. import __version__

    parser = MainParser(prog="tfprof")
    parser.add_argument("--version", action="version", version=f"tfprof {__version__}")
    commands = parser.add_subparsers(parser_class=Parser, required=True, metavar="COMMAND")

    def add(name: str, command: Command, told: str) -> Parser:
        one: Parser = commands.add_parser(name, description=told)
        one.set_defaults(run_command=command, streams=plain_streams)
        one.add_argument("--json", action="store_true", help='print JSON for programs; of an error {"error": "..."}')
        return one

    one = add("summary", one_run.print_summary, "Print how long a step takes, what limits it and what to change.")
    one.add_argument("run", metavar="RUN", help=_RUN)
    one = add("report", one_run.print_report, "Print the report as Markdown, at most 20 kB.")
    one.add_argument("run", metavar="RUN", help=_RUN)
    one = add("html", one_run.write_page, "Write the dashboard as one page that needs no kernel and no network.")
    one.add_argument("run", metavar="RUN", help=_RUN)
    one.add_argument("-o", "--output", metavar="PAGE", default="profile.html", help="the page (profile.html)")
    _add_diff(add)
    one = add("sql", queries.print_rows, "Print rows of the tables of a run, asked for in SQL (needs DuckDB).")
    one.add_argument("run", metavar="RUN", help=_RUN)
    one.add_argument("query", metavar="QUERY", nargs="?", help="one SELECT; without it, the tables and their columns")
    one = add("export", one_run.write_files, "Write the trace or its tables for another program.")
    one.add_argument("run", metavar="RUN", help=_RUN)
    one.add_argument("--to", required=True, choices=list(one_run.OUTPUTS), help="chrome is also what Perfetto opens")
    written = ", ".join(dict.fromkeys(one_run.OUTPUTS.values()))
    one.add_argument("-o", "--output", metavar="PATH", help=f"the file or, of tables, the folder ({written})")
    _add_capture(add)
    _add_serve(commands.add_parser("serve", description=_SERVE))
    add("doctor", machine.print_checks, "Say whether a capture will work on this machine; status 1: something to do.")
    return parser


def _add_diff(add: Callable[[str, Command, str], Parser]) -> None:
    one = add(
        "diff",
        two_runs.print_diff,
        "Print what changed from run A to run B. With --fail-above the exit status is 1 where the median time of the "
        "comparable steps of B is surely more than LIMIT times that of A, 0 where it surely is not, and 3 where noise or a busy "
        "machine does not let it tell; the output says why.",
    )
    one.add_argument("a", metavar="A", help="the run to compare with")
    one.add_argument("b", metavar="B", help="the run to judge")
    one.add_argument("--fail-above", metavar="LIMIT", type=_ratio, help="such as 1.05: at most 5 %% longer steps")


def _add_capture(add: Callable[[str, Command, str], Parser]) -> None:
    one = add(
        "capture",
        processes.capture_processes,
        "Profile training processes while they train: each runs `tfprof serve`, tfprof.serve(port) or TensorFlow's "
        f"profiler server. A token, where they ask for one, is taken from the variable {processes.TOKEN}.",
    )
    one.add_argument("addresses", metavar="HOST:PORT", nargs="+", help="where each listens")
    one.add_argument("--ms", type=int, default=2000, metavar="N", help="how long, in milliseconds (2000)")
    one.add_argument("-o", "--output", default="tfprof_logs", metavar="DIR", help="the log directory (tfprof_logs)")


def _add_serve(one: argparse.ArgumentParser) -> None:
    """Of this one the output, the warnings and the exit status are the program's own."""
    one.set_defaults(run_command=processes.run_served, streams=contextlib.nullcontext, json=False)
    one.add_argument("--port", type=int, default=6009, metavar="N", help="to listen at (6009); 0 for any free one")
    one.add_argument("--host", default="127.0.0.1", help="the address to listen at (127.0.0.1: this machine alone)")
    one.add_argument("program", metavar="PROGRAM", help="the program that trains, such as train.py")
    one.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="what it is given")


def _ratio(text: str) -> float:
    # 0.05 is what somebody writes who means 5 %.
    if re.fullmatch(r"\d+(\.\d*)?|\.\d+", text) is None or not float(text) >= _LEAST_RATIO:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no limit: give a ratio of {_LEAST_RATIO:g} or more, such as 1.05 for 5 % more"
        )
    return float(text)
