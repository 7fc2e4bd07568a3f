"""Trace -> executions of ops and kernels, and their totals per framework op."""
