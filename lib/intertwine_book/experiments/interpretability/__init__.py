"""Chapter 5: the networks that it dissects, and interpretability against rotation."""
