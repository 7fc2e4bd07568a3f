"""Profiles, comparisons and checks -> the values that `--json` prints; the names of their fields are a contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from ..comparing import ProfileDiff
    from ..notebook.doctor_report import DoctorReport
    from ..profiles import Profile

_TOP_ROWS = 20
_TABLES = ("ops", "kernels", "layers", "source_lines", "hlo_ops", "copies")


def summary_document(profile: Profile) -> dict[str, Any]:
    """How long a step takes, what limits it and what to change."""
    overview = profile.overview
    return {
        "title": profile.title,
        "notices": list(profile.notices),
        "verdict": overview.verdict,
        "verdict_detail": overview.verdict_detail,
        "limiter": overview.limiter,
        "n_steps": overview.n_steps,
        "n_steps_averaged": overview.n_steps_averaged,
        "is_inferred": overview.is_inferred,
        "step_time_ms": {
            "mean": overview.step_time_avg_ms,
            "std": overview.step_time_std_ms,
            "min": overview.step_time_min_ms,
            "max": overview.step_time_max_ms,
        }
        if overview.n_steps
        else None,
        "breakdown": _records(overview.breakdown),
        "device_type": overview.environment.device_type,
        "n_devices": overview.environment.n_devices,
        "hosts": list(overview.environment.hosts),
        "n_events": overview.environment.n_events,
        "captured_ms": overview.environment.captured_ms,
        "advice": _records(profile.advice_table),
    }


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
    ratio = found.step_time_ratio
    return {
        "a": found.a,
        "b": found.b,
        "verdict": found.verdict,
        "notices": list(found.notices),
        "quantity": QUANTITY,
        "ratio": ratio,
        "interval_95": list(found.step_time_interval),
        "is_beyond_noise": is_beyond_noise(found),
        "fail_above": limit,
        "is_above": is_above,
        "judgement": judgement,
        "summary": _records(found.summary),
    }


QUANTITY = "median step time of b over that of a, of the comparable steps of each run"
"""What `diff --fail-above` compares."""


def is_beyond_noise(found: ProfileDiff) -> bool | None:
    """Whether the steps differ by more than noise; None where the runs are too short to tell."""
    low, high = found.step_time_interval
    return None if low != low else not low <= 1 <= high


def checks_document(report: DoctorReport) -> dict[str, Any]:
    """What was checked of the machine."""
    return {"is_ok": report.is_ok, "checks": _records(report.frame)}


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    from ..views.payload.plain import records

    return records(frame)
