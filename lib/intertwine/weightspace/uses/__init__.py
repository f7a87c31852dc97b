"""Fifth phase: what a group of symmetries is good for."""
