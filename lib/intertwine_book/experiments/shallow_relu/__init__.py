"""Chapter 7: the numbered statements of ramakrishnan2026 tried on random networks, and tables for figures."""
