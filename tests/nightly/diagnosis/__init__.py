"""Programs as users write them, each with one known fault -> whether the first card names it: `make diagnose`."""
