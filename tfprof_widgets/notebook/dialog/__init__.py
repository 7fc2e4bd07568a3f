"""The dialog that captures a running process."""
