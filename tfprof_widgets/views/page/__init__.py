"""Pages that stand alone: no kernel and no network."""
