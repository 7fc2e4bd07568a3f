"""Keras: the callback, and the patch of `fit`, `evaluate` and `predict` that marks steps."""
