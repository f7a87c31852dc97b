"""Symmetries of neural networks: what can be done to the weights without changing the function."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("intertwine")
except PackageNotFoundError:  # read from a source folder that was never installed
    __version__ = "0+unknown"
