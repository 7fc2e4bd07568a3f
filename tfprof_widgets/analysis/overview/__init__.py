"""Steps, ops and memory -> the figures and sentences a reader wants first."""
