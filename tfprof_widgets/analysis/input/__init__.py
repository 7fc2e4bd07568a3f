"""Trace -> the tf.data pipelines: calls, waits, bottlenecks, and what to change."""
