"""out_of_memory."""
