"""Chapter 1d: what rounding costs at places of an orbit, where two networks meet, known elements."""
