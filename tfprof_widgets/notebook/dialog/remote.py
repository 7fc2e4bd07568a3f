"""The fields of `capture_remote` -> a dialog in the notebook that captures with them and shows the profile."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...capturing import capture_remote, captured
from ...profiles import Profile

if TYPE_CHECKING:
    from .dialog import CaptureDialog
    from .run import CaptureRun

_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(capture_remote).parameters.items()
    if name != "addresses"
}


def capture_dialog(
    addresses: str | Sequence[str] = "",
    duration_ms: int = 2000,
    *,
    host_tracer_level: int = 2,
    device_tracer_level: int = 1,
    delay_ms: int | None = None,
    num_tracing_attempts: int = 3,
    logdir: str | Path | None = None,
    token: str | None = None,
) -> CaptureDialog:
    """A form in the notebook that captures training processes elsewhere and shows the profile: `capture_remote` as a
    widget.

    It captures in the background: cells run meanwhile. It says which workers answered and why others did not, shows the
    dashboard of the last capture, and the line of code that captures the same.

    Args:
        addresses: what the field begins with, as for `capture_remote`; `""` leaves it empty. The other arguments are
            those of `capture_remote`, too.
        duration_ms: for how many milliseconds to capture, 1 to 600,000.
        host_tracer_level: 1 critical events only, 2 info, 3 verbose.
        device_tracer_level: 1 to trace devices, 0 not to.
        delay_ms: how many milliseconds ahead all begin together.
        num_tracing_attempts: how often all are asked while one has no events to send, or is busy with another capture.
        logdir: keep the traces of each capture as a run of this log directory.
        token: what the workers ask for. It has no field, as a notebook keeps what fields hold, and the line of code
            says `token=token` for it.

    Returns:
        The widget: `.profile` is that of the last capture, `.profiles` those of all, oldest first.

    Raises:
        TypeError: an argument of the wrong type.
        ValueError: an argument out of its range.

    Examples:
        >>> dialog = tfprof.capture_dialog("10.0.0.5:6009", duration_ms=500)
        >>> dialog.code
        'tfprof.capture_remote(["10.0.0.5:6009"], duration_ms=500)'
    """
    from ...capture.remote.client import RemoteOptions, worker_addresses
    from .dialog import CaptureDialog

    options: dict[str, Any] = {
        "duration_ms": duration_ms,
        "host_tracer_level": host_tracer_level,
        "device_tracer_level": device_tracer_level,
        "delay_ms": delay_ms,
        "num_tracing_attempts": num_tracing_attempts,
        "token": token,
    }
    RemoteOptions(**options)
    is_empty = not addresses if not isinstance(addresses, str) else not addresses.strip()
    given = {"addresses": () if is_empty else worker_addresses(addresses), **options, "logdir": logdir}
    return CaptureDialog(given, defaults=_DEFAULTS, read=read_field, capture=_capture)


def read_field(name: str, value: Any) -> Any:
    """The argument of `capture_remote` that a field of the dialog stands for.

    Raises:
        CaptureError: traces cannot be written to that log directory.
        TypeError, ValueError: what `capture_remote` would raise.
    """
    from ...capture.remote.client import RemoteOptions, check_logdir, worker_addresses

    if name == "addresses":
        return worker_addresses(value)
    if name == "logdir":
        return check_logdir(value.strip()) if value.strip() else None
    if name == "delay_ms":
        text = value.strip()
        value = int(text) if text.removeprefix("-").isdecimal() else text or None
    RemoteOptions(**{name: value})
    return value


def _capture(arguments: Mapping[str, Any], run: CaptureRun) -> Profile:
    from ...capture.remote.client import RemoteOptions

    options = RemoteOptions(**{name: arguments[name] for name in _DEFAULTS if name != "logdir"})
    return captured(arguments["addresses"], options, logdir=arguments["logdir"], watch=run)
