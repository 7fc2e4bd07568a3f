"""Trace -> memory by allocator: timeline, live set, steps, growth and lifetimes."""
