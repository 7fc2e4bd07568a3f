"""What the Makefile runs: getting the environment, the checks, the demo."""
