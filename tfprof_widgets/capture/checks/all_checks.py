"""all_checks: this process and its machine -> every check there is, in the order of a report."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from ..machine.keras_backend import keras_backend
from .check import Check, unknown
from .front_end import gather_front_end_facts
from .front_end_checks import front_end_checks
from .gpu_checks import gpu_checks
from .gpu_facts import gather_gpu_facts
from .machine_checks import gather_disk_facts, gather_sampling_facts, machine_checks
from .session_checks import gather_session_facts, session_checks
from .versions import backend_check, version_checks

_logger = logging.getLogger(__name__)
_SHOW_ERROR = "import logging; logging.basicConfig(level=logging.DEBUG); tfprof.doctor()  # shows the traceback"


def run_all_checks() -> tuple[Check, ...]:
    """Run the checks, each group apart: one that fails becomes a check that says so."""
    checks: list[Check] = []
    for name, run in _GROUPS.items():
        try:
            checks += list(run())
        except Exception as error:  # whatever is broken here is what a user came to find out
            _logger.debug("the check %s failed", name, exc_info=True)
            checks.append(unknown(name, f"not checked: {type(error).__name__}: {error}", _SHOW_ERROR))
    return tuple(checks)


_GROUPS: dict[str, Callable[[], Iterable[Check]]] = {
    "versions": version_checks,
    "keras_backend": lambda: (backend_check(keras_backend()),),
    "gpu": lambda: gpu_checks(gather_gpu_facts()),
    "profiler_session": lambda: session_checks(gather_session_facts()),
    "machine": lambda: machine_checks(gather_disk_facts(), gather_sampling_facts()),
    "front_end": lambda: front_end_checks(gather_front_end_facts()),
}
