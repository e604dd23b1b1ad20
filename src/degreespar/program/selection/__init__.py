"""Oblivious selection: keep K of N tokens by secret scores, in public rank ranges; nothing else shows."""

from degreespar.program.selection.select import route, select_tokens

__all__ = ["route", "select_tokens"]
