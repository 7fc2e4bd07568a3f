"""Training processes -> a profile of those that run elsewhere, or one of our own that others can profile."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from pathlib import Path

from ..errors import CaptureError
from .documents import summary_document
from .terminal import write_error, write_json, write_text

TOKEN = "TFPROF_TOKEN"
"""The variable that holds the token: on the command line every user of the machine could read it."""


def capture_processes(options: argparse.Namespace) -> int:
    """Capture training processes while they train, keep their traces, and print the summary."""
    from ..capturing import capture_remote

    found = capture_remote(
        options.addresses, duration_ms=options.ms, logdir=options.output, token=os.environ.get(TOKEN) or None
    )
    if options.json:
        write_json({"path": options.output, **summary_document(found)})
    else:
        write_text(f"{found.text()}\nKept in {options.output}: tfprof html {options.output} writes its dashboard.")
    return 0


def run_served(options: argparse.Namespace) -> int:
    """Run a Python program with a profiler server in its process; its output, errors and exit status are its own."""
    from ..capturing import serve

    script = options.program
    if not Path(script).is_file():
        raise CaptureError(f"{script} is no file: give the Python program that trains, then its arguments")
    with serve(options.port, options.host, token=os.environ.get(TOKEN) or None) as server:
        write_error(f"{script} can be profiled at {server.address}: tfprof capture {server.address}")
        sys.argv, sys.path[0] = [script, *options.arguments], str(Path(script).resolve().parent)
        try:
            runpy.run_path(script, run_name="__main__")
        except Exception:  # the program's own, told as Python tells it
            traceback.print_exc()
            return 1
    return 0
