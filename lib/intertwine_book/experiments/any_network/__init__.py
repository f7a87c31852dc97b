"""Chapter 1c: networks of others, what rounding costs at places of an orbit, and what else an orbit tells."""
