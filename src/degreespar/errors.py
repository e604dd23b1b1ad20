"""The root of every error that a user may see: its text is one clear sentence."""


class DegreeSparError(Exception):
    """Something that the user or the peer did, said in one sentence; the CLI prints it and exits 2."""
