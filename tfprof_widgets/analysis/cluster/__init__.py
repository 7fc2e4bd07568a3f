"""Hosts too many to read whole -> a summary of each where it is read, and one set of results of all."""
