"""Chapter 4b: similarity against function."""
