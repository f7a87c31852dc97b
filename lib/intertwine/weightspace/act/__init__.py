"""Fourth phase: an element of the group comes in, moved weights go out."""
