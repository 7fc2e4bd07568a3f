"""all_checks: this process and its machine -> every check there is, in the order of a report."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from .check import Check, unknown

_logger = logging.getLogger(__name__)
_SHOW_ERROR = "import logging; logging.basicConfig(level=logging.DEBUG); tfprof.doctor()  # shows the traceback"


def run_all_checks() -> tuple[Check, ...]:
    """Run the checks, each group apart: one that fails becomes a check that says so."""
    checks: list[Check] = []
    for name, run in _GROUPS.items():
        try:
            checks += run()
        except Exception as error:  # whatever is broken here is what a user came to find out
            _logger.debug("the check %s failed", name, exc_info=True)
            checks.append(unknown(name, f"not checked: {type(error).__name__}: {error}", _SHOW_ERROR))
    return tuple(checks)


def _versions() -> Iterable[Check]:
    from .versions import version_checks

    return list(version_checks())


def _sessions() -> Iterable[Check]:
    from .session_checks import gather_session_facts, session_checks

    return list(session_checks(gather_session_facts()))


def _gpus() -> Iterable[Check]:
    from .gpu_checks import gpu_checks
    from .gpu_facts import gather_gpu_facts

    return list(gpu_checks(gather_gpu_facts()))


def _machine() -> Iterable[Check]:
    from .machine_checks import gather_disk_facts, gather_sampling_facts, machine_checks

    return list(machine_checks(gather_disk_facts(), gather_sampling_facts()))


def _front_end() -> Iterable[Check]:
    from .front_end import gather_front_end_facts
    from .front_end_checks import front_end_checks

    return list(front_end_checks(gather_front_end_facts()))


_GROUPS: dict[str, Callable[[], Iterable[Check]]] = {
    "versions": _versions,
    "gpu": _gpus,
    "profiler_session": _sessions,
    "machine": _machine,
    "front_end": _front_end,
}
