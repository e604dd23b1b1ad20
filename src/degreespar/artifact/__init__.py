"""The artifact that an owner deploys: a public part, a client's part and the server's weights."""

from degreespar.artifact.bert_geometry import BertGeometry
from degreespar.artifact.errors import ArtifactError
from degreespar.artifact.geometry import VitGeometry
from degreespar.artifact.manifest import (
    BIAS_FRAC_BITS,
    MAX_WEIGHT_FRAC_BITS,
    WeightEntry,
    expected_weights,
)
from degreespar.artifact.parts import LABEL, SCORES, Client, ClientPart, Geometry, PublicPart
from degreespar.artifact.reader import read_client, read_public, read_server
from degreespar.artifact.text_part import TextPart
from degreespar.artifact.writer import write_artifact

__all__ = [
    "BIAS_FRAC_BITS",
    "LABEL",
    "MAX_WEIGHT_FRAC_BITS",
    "SCORES",
    "ArtifactError",
    "BertGeometry",
    "Client",
    "ClientPart",
    "Geometry",
    "PublicPart",
    "TextPart",
    "VitGeometry",
    "WeightEntry",
    "expected_weights",
    "read_client",
    "read_public",
    "read_server",
    "write_artifact",
]
