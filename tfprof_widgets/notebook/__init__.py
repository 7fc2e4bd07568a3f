"""Magics, cells and dialogs: what a user types and clicks in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import first_use

# fmt: off
if TYPE_CHECKING:
    from .dialog import CaptureDialog, MOST_ROWS, capture_dialog, code_line, counted, rows_html
    from .doctor_report import DoctorReport
    from .magics import LastRuns, TfprofMagics, cell_of, lone_help, parse_steps, split_options
# fmt: on

__getattr__, __dir__ = first_use(__name__)
