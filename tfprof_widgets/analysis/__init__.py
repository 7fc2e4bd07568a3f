"""Analysis: a trace -> frozen results that hold DataFrames; one question per file."""
