"""The book's own code: what its chapters measure, draw, record and judge, and how its pages are built."""
