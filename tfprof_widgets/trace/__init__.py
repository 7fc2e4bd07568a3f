"""`Trace` and what belongs to it: nesting, merging, graphs, the source map, facts of the capture. No files."""
