"""Costs by structure: name scopes, the graph of ops, op types, Python call stacks."""
