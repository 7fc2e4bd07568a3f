"""The `events` table, and each device event with the call that launched it."""

from __future__ import annotations
