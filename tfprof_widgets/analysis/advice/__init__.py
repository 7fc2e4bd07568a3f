"""Facts of a trace -> what to change: advice with evidence, code to paste, what to highlight, and the most it could win."""
