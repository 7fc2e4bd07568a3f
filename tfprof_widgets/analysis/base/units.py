"""Units of time: what a number in ps or us is divided by to become ns, us or ms."""

from __future__ import annotations

PS_PER_NS = 1_000
PS_PER_US = 1e6
PS_PER_MS = 1e9
US_PER_MS = 1e3
