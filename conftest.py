"""Tests and doctests are checked by one run-time type checker, whichever of them are asked for."""

import sys

import jaxtyping
from type_checks import decorator

sys.dont_write_bytecode = False  # set in some containers, where every process would compile all tests anew
jaxtyping.jaxtyped = decorator  # before the library is imported
