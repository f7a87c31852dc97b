"""Chapter 3b: direct and task-loss matching, the networks it compares, and the tables of its claims."""
