"""checks: this process, its machine and its front end -> what works, what does not, and what to do about it."""
