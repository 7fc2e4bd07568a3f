"""Framework ops -> the line of source code, or the named bucket, that each is charged to."""
