"""Trace -> every fact of it, each computed when first asked for: what the judgements are made of."""
