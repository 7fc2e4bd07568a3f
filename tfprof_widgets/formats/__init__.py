"""Bytes -> `Trace`: one package for each format that is read."""
