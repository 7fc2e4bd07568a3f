"""This process and its machine -> `DoctorReport`: what a capture will see here, and what to do for the rest."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..analysis.table import TableProperty, table
from ..capture.checks.facts import Check

if TYPE_CHECKING:
    import pandas as pd

FRAME = table("""
    doctor().frame: a check
        check   text  what was looked at
        status  text  `ok`, `warning`, or `unknown` where it cannot be found out
        value   text  what was found
        remedy  text  a command or a line of code, empty where the status is `ok`

    All columns are text, in the order of `checks`. It always has a row for each check.
""")


# Ink and lines are the page's own, so that both themes are legible; a status is told by its word, not by its tint.
_STYLE = """<style>
table.tfprof-doctor { border-collapse: collapse; margin: 4px 0; font-size: var(--jp-ui-font-size1, 13px); color: inherit; }
table.tfprof-doctor th, table.tfprof-doctor td { text-align: left; vertical-align: top; padding: 2px 12px 2px 4px;
  max-width: 60ch; overflow-wrap: anywhere; white-space: normal; border: 0; background: none;
  color: var(--jp-ui-font-color1, inherit);
  border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
table.tfprof-doctor th { font-weight: 600; }
table.tfprof-doctor tr.tfprof-warning td { background: color-mix(in srgb, #e0a030 18%, transparent); }
table.tfprof-doctor tr.tfprof-warning td:nth-child(2) { font-weight: 600; }
table.tfprof-doctor code { font-family: var(--jp-code-font-family, monospace); font-size: 12px; color: inherit; background: none;
  white-space: pre-wrap; }
</style>"""


@dataclass(frozen=True)
class DoctorReport:
    """What `doctor()` found. In a notebook it shows itself as a table, in a terminal as a line for each check."""

    checks: tuple[Check, ...]
    """The answers in the order of the report: versions, GPUs, the profiler, the machine, the front end. Each has `name`,
    `status`, `value` and `remedy`.
    """

    @property
    def is_ok(self) -> bool:
        """Whether nothing needs to be done; what could not be found out does not count."""
        return all(check.status != "warning" for check in self.checks)

    frame = TableProperty("doctor().frame", lambda self: self._frame())

    def _frame(self) -> pd.DataFrame:
        import pandas as pd

        rows = [(check.name, check.status, check.value, check.remedy) for check in self.checks]
        return pd.DataFrame(rows, columns=list(FRAME.names), dtype="object")

    def __repr__(self) -> str:
        parts = [self._part("ok", "ok", names=False)]
        parts += [self._part("warning", "warning"), self._part("unknown", "unknown")]
        return f"<DoctorReport: {', '.join(part for part in parts if part) or 'no checks'}>"

    def _part(self, status: str, word: str, *, names: bool = True) -> str:
        of_status = [check.name for check in self.checks if check.status == status]
        if not of_status:
            return ""
        many = "s" if word == "warning" and len(of_status) > 1 else ""
        return f"{len(of_status)} {word}{many}" + (f" ({', '.join(of_status)})" if names else "")

    def __str__(self) -> str:
        status, name = (max((len(getattr(one, part)) for one in self.checks), default=0) for part in ("status", "name"))
        return "\n".join(
            f"{one.status:<{status}}  {one.name:<{name}}  {one.value}{f' -> {one.remedy}' if one.remedy else ''}"
            for one in self.checks
        )

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{name}</th>' for name in FRAME.names)
        rows = "\n".join(_row(check) for check in self.checks)
        return f'{_STYLE}\n<table class="tfprof-doctor"><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table>'

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}


def _row(check: Check) -> str:
    remedy = f"<code>{html.escape(check.remedy)}</code>" if check.remedy else ""
    cells = "".join(f"<td>{cell}</td>" for cell in (html.escape(check.status), html.escape(check.value), remedy))
    status = html.escape(check.status)
    return f'<tr class="tfprof-{status}"><th scope="row">{html.escape(check.name)}</th>{cells}</tr>'


def doctor() -> DoctorReport:
    """Check whether a capture will work here and what it will see; `%tfprofile --check` shows the same.

    It looks at versions; the GPUs of the driver and of TensorFlow, CUPTI, the right to profile, GPU sampling; a
    profiler session left running; recording of CPU memory; room for captures; CPU sampling; the front end and its
    widgets. It imports no TensorFlow and starts no GPU: what only a running TensorFlow knows is `unknown` until you
    import it. It takes a fraction of a second and never raises: a check that cannot be made is `unknown`, with the
    reason.

    Returns:
        The report. Its `frame` has a row for each check; one that is not `ok` has a command or a line of code as
        `remedy`.

    Examples:
        >>> report = tfprof.doctor()
        >>> to_do = report.frame[report.frame["status"] == "warning"]
    """
    from ..capture.checks.all_checks import run_all_checks

    return DoctorReport(run_all_checks())
