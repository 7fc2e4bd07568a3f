"""The command line: what a shell asks for -> the public functions, their answers as text or JSON, and an exit status."""
