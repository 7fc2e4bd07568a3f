"""`XSpace`, which TensorFlow's profiler writes -> `Trace`."""
