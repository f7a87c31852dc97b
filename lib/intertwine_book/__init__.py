"""The book's own code: experiments and figures of its chapters, results, claims, and the build."""
