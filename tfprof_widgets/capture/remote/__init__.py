"""Captures of other processes over TensorFlow's profiler service."""
