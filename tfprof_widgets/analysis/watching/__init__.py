"""A training that is watched -> its figures, and what is odd in it."""
