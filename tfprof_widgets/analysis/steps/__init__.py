"""Trace -> steps: marked or inferred, of hosts, GPUs and TPUs, what each was made of, and side by side by host."""
