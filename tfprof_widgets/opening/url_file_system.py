"""A URL -> fsspec's file system for it, whose errors become `TraceError` without secrets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

from ..errors import TraceError
from . import url_limits
from .shown_url import shown_url, without_secrets
from .url_limits import no_answer, session_options

_PROGRAMS = {"gs": "gcsfs", "gcs": "gcsfs", "s3": "s3fs", "s3a": "s3fs", "http": "aiohttp", "https": "aiohttp"}
"""What to install for a scheme."""


def file_system_of(url: str) -> Any:
    """fsspec's file system for a URL.

    Raises:
        TraceError: there is none; the message says what to install.
    """
    scheme = url.partition("://")[0].rpartition("::")[2].lower()
    try:
        from fsspec.core import url_to_fs

        is_web = scheme in ("http", "https") and url.lower().startswith(scheme)
        options = {"client_kwargs": session_options(url_limits.SILENT_S)} if is_web else {}
        return url_to_fs(url, **options)[0]
    except ImportError as error:
        what = _PROGRAMS.get(scheme)
        remedy = f"pip install {what}" if what else without_secrets(str(error), url)
        raise TraceError(f"{shown_url(url)} cannot be read: no file system for {scheme}:// is here: {remedy}") from None
    except ValueError as error:
        raise TraceError(
            f"{shown_url(url)} cannot be read: {without_secrets(str(error), url)}. Copy it here and load that."
        ) from None
    except Exception as error:
        raise failure(url, error) from None


@contextlib.contextmanager
def remote_errors(url: str) -> Iterator[None]:
    """Whatever a file system raises inside the `with` block leaves it as a `TraceError` that names the URL."""
    try:
        yield
    except TraceError:
        raise
    except Exception as error:  # each file system has errors of its own
        raise failure(url, error) from None


def failure(url: str, error: BaseException) -> TraceError:
    """What to tell of an error of a file system: its text without secrets. It is not chained, as its own text has them."""
    if isinstance(error, FileNotFoundError) and error.__cause__ is None:
        return TraceError(f"Nothing is at {shown_url(url)}. Check the address.")
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return no_answer(url)
    reason = without_secrets(str(error), url).strip() or "no reason given"
    return TraceError(
        f"{shown_url(url)} cannot be read: {type(error).__name__}: {reason}. Check the address and your access to it."
    )
