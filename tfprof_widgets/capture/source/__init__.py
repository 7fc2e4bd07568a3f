"""The user's program: its functions, graphs, layers, variables and lines."""
