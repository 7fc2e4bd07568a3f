"""In the place of a package whose import builds a grammar of addresses for 5 s; jsonschema then leaves them unchecked."""

raise ImportError("left out, for servers to start sooner")
