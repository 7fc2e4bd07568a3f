"""A training -> a row for each of its steps while it runs, and profiles of the steps that are asked for."""
