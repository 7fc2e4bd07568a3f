"""A failed allocation -> what held the memory, and what to do about it."""
