"""Samples of the machine -> what is odd in them."""
