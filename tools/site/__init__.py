"""The documentation site: what of it is made from the package, at its build and by hand."""
