"""Bytes -> Trace: frozen columns of NumPy arrays, one reader per input format."""
