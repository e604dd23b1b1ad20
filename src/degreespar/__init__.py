"""Private Transformer inference between two parties, compressed in the space of polynomial degrees."""

__version__ = "0.1.0"
