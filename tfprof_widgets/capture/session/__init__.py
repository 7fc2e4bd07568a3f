"""One capture: when it starts and stops, what it costs, what went wrong."""
