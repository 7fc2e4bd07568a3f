"""Trace -> steps: marked or inferred, of hosts, GPUs and TPUs, and what each was made of."""
