"""Matching layers: where networks are cut, and a fit of restored size."""
