"""Measurements: the row type, and the primitives of the native core."""
