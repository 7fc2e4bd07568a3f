"""Magics, cells and dialogs: what a user types and clicks in a notebook."""
