"""Chapter 6: classes in closed form, the authors' draws, and the statements of lengyel2020, tried."""
