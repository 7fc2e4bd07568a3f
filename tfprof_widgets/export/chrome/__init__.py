"""A trace -> Chrome's trace event format."""
