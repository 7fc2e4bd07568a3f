"""URLs, and texts that name some -> the same without what only their owner may see: passwords, keys, tokens."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^\s/?#]*@)?[^\s'\"<>]*")
"""In a text, where quotes mostly end a URL; but a password may hold some."""
_USER = re.compile(r"(://)(?:([^/?#]*)@|([^/?#@:]*:(?!\d*(?:[/?#]|$)).*)@)", re.DOTALL)
"""Who logs in, up to the last @. What follows a colon and is no port is a password even with signs that none may hold."""
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_SHORTEST = 3
"""Anything shorter is no secret, and stands in many a word."""


def shown_url(url: str) -> str:
    """A URL without user, password, query and fragment; what was there is told by dots."""
    return _QUERY.sub("?...", _USER.sub(r"\1...@", url))


def without_secrets(text: str, url: str = "") -> str:
    """A text of any file system with `shown_url` of each URL in it.

    Args:
        text: such as the message of an error.
        url: what the text is about. Its secrets are left out wherever they stand.
    """
    for secret in _secrets_of(url):
        text = text.replace(secret, "...")
    return _URL.sub(lambda match: shown_url(match[0]), text)


def _secrets_of(url: str) -> list[str]:
    """Users with their passwords, passwords alone, and the query, as a text may spell them; the longest first."""
    found = {_USER.sub("", url).partition("?")[2].partition("#")[0]}
    for _, *users in _USER.findall(url):
        user = "".join(users)
        found |= {user, user.partition(":")[2]}
    spelled = {
        form for one in found for form in (one, unquote(one), quote(one), quote(one, safe=""), quote(one, safe=":"))
    }
    return sorted((one for one in spelled if len(one) >= _SHORTEST), key=lambda one: (-len(one), one))
