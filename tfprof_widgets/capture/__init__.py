"""Capture: a running TensorFlow program -> profile files on disk and a frozen record of how they were made."""
