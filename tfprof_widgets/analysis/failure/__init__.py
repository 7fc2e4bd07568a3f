"""An allocation that failed -> what held the memory at that moment, and what to do."""
