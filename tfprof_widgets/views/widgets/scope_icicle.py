"""A profile's name scopes -> the icicle widget."""

from __future__ import annotations

from .base import View


class ScopeIcicle(View):
    """Name scopes from the root down, as wide as their time; click one to see inside it and to select its ops."""

    entry = "scope_icicle"
