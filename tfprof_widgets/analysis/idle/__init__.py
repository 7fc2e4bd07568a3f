"""Trace -> the gaps in the work of each device: what each waited for, and what it came before."""
