"""A profile -> a report in Markdown."""
