"""Captures of TensorFlow's sessions: RunMetadata of chosen steps."""
