"""The tree of code or ops -> pprof's format."""
