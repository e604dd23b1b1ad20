"""Degree space: the degree of every nonlinear function of a model, and its public bounds."""

from degreespar.degree.bounds import LayerBounds, ModelBounds, TextBounds
from degreespar.degree.errors import PolicyError, PriceError
from degreespar.degree.grid import IntGrid
from degreespar.degree.policy import (
    GELU_STATES,
    SQUARINGS_STATES,
    DegreePolicy,
    LayerPolicy,
)
from degreespar.degree.selection import METHODS, Method, Selection

__all__ = [
    "GELU_STATES",
    "METHODS",
    "SQUARINGS_STATES",
    "DegreePolicy",
    "IntGrid",
    "LayerBounds",
    "LayerPolicy",
    "Method",
    "ModelBounds",
    "PolicyError",
    "PriceError",
    "Selection",
    "TextBounds",
]
