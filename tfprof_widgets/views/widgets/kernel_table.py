"""A profile's kernels -> the kernel statistics widget."""

from __future__ import annotations

from .base import View


class KernelTable(View):
    """Kernels by time, for the selected time range or the whole capture, and whether they run on Tensor Cores."""

    entry = "kernel_table"
