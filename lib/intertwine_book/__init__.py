"""The book's own code: networks, data, records with their claims, figures, instruments, and the build."""
