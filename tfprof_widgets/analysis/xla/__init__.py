"""HLO modules and their executions -> the ops of compiled programs, what they cost and what they stand for."""
