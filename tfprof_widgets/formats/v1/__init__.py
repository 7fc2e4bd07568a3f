"""TensorFlow's first profiler: RunMetadata, timelines and ProfileProto -> `Trace` and `OpGraph`."""
