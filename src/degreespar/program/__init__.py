"""The secure Transformer as plain functions over `engine.Ops`: the same text on every engine."""
