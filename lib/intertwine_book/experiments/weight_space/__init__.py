"""Chapter 1b: orbits of weights under training, and the paper's statements on weights, as experiments."""
