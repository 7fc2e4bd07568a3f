"""Measured what-ifs: a training program run with parts of it replaced, and put back as it was."""
