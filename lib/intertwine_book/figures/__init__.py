"""One figure style and palette through the book; every figure function takes a table and returns a Figure."""
