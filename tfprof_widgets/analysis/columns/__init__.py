"""The registry of columns: what every column of every public table is called and holds."""
