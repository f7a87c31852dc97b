"""Third phase: constraints between axes come in, hidden spaces with their groups go out."""
