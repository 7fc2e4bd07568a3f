"""A profile -> the bytes that the browser draws from."""
