"""Bytes on demand, and protocol buffers as they are on the wire."""
