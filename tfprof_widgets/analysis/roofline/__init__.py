"""What devices could compute and move at most, and how near ops, layers and steps come to it."""
