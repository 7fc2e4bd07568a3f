"""This machine -> what a capture would see on it, and what to do for the rest."""

from __future__ import annotations

import argparse

from .documents import checks_document
from .terminal import write_json, write_text


def print_checks(options: argparse.Namespace) -> int:
    """Print what `tfprof.doctor()` found.

    Returns:
        0 where nothing needs to be done, else 1.
    """
    from ..notebook.doctor_report import doctor

    report = doctor()
    if options.json:
        write_json(checks_document(report))
    else:
        write_text(str(report))
    return 0 if report.is_ok else 1
