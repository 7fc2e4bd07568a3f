"""Export: results -> files and text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import first_use

# fmt: off
if TYPE_CHECKING:
    from .chrome import write_chrome_trace
    from .document import BarRow, Part, ROOMS, Subject, bar_table, code, fence, readable_kernel, sentence, table
    from .document_tables import (
        COLORS, MOST_BYTES, profile_html, render_report, report_tables, sheet, watch_report, watch_summary,
    )
    from .files import INDEX, table_makers, tables, write_tables
    from .pprof import write_pprof
    from .text import format_memory, format_number, format_time, step_words, summarize, tree_text
# fmt: on

__getattr__, __dir__ = first_use(__name__)
