"""Tests and doctests are checked by one run-time type checker, whichever of them are asked for."""

import jaxtyping
from type_checks import decorator

jaxtyping.jaxtyped = decorator  # before the library is imported
