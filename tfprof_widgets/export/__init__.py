"""Export: results -> files and text."""
