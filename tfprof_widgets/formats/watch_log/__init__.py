"""A training that was watched <-> the folder that holds it."""
