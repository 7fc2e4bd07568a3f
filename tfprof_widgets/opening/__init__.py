"""A path or URL -> what to read, and the traces of one or many hosts."""
