"""Chapter 4: the same layers of two networks beside nulls, and the statements of godfrey2022, tested."""
