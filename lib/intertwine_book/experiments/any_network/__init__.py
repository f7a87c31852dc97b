"""Chapter 1c: networks of others, and what moves together in them."""
