"""Two profiles -> what changed between them, beside how much of it is noise."""
