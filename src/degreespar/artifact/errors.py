"""The artifact's errors: one for each rule of docs/spec/artifact.md that a reader can check."""

from degreespar.errors import DegreeSparError


class ArtifactError(DegreeSparError):
    """An artifact that must not be used."""


class WrongKindError(DegreeSparError):
    """A model of pictures was given texts, or the other way: no fault of the artifact."""


class UnreadableFileError(ArtifactError):
    """A-01: a file is missing, not a regular file, or not readable."""


class FileTooLargeError(ArtifactError):
    """A-02: a file is larger than its format allows."""


class NotJsonError(ArtifactError):
    """A-03: a JSON file holds something else."""


class WrongFormatError(ArtifactError):
    """A-04: a JSON file does not name the format expected here."""


class WrongVersionError(ArtifactError):
    """A-05: the file was written in a version that this program does not read."""


class NotCanonicalError(ArtifactError):
    """A-06: a JSON file is not in the canonical form."""


class WrongFieldsError(ArtifactError):
    """A-07: an object lacks a key, has one too many, or a value has the wrong type."""


class NameInvalidError(ArtifactError):
    """A-08: the model's name is empty, too long or not printable."""


class GeometryInvalidError(ArtifactError):
    """A-09: the geometry is inconsistent or beyond the limits."""


class PolicyInvalidError(ArtifactError):
    """A-10: the degree policy is not valid by itself."""


class PolicyShapeMismatchError(ArtifactError):
    """A-11: the degree policy does not fit the geometry."""


class ManifestMismatchError(ArtifactError):
    """A-12: the weights listed are not exactly those of the geometry."""


class FracBitsInvalidError(ArtifactError):
    """A-13: a weight's fraction bits are out of range."""


class LabelsInvalidError(ArtifactError):
    """A-14: the labels are not one printable text for each class."""


class MalformedDigestError(ArtifactError):
    """A-15: a digest is not 64 lower-case hexadecimal digits."""


class ClientDigestMismatchError(ArtifactError):
    """A-16: client.json is not the file that public.json was written with."""


class ClientPartInvalidError(ArtifactError):
    """A-17: the client's preprocessing does not fit the geometry or is out of range."""


class ServerDigestMismatchError(ArtifactError):
    """A-18: server.safetensors is not the file that public.json was written with."""


class TensorFileInvalidError(ArtifactError):
    """A-19: server.safetensors cannot be parsed."""


class TensorsMismatchError(ArtifactError):
    """A-20: the tensors are not exactly those of the manifest."""


class BiasTooLargeError(ArtifactError):
    """A-21: a bias lies beyond the largest that a ring can hold with headroom."""


class WriteFailedError(ArtifactError):
    """A-24: a file could not be put in place."""


class RevealInvalidError(ArtifactError):
    """A-25: what is opened to the client is none of the known answers."""


class LengthPoliciesMismatchError(ArtifactError):
    """A-26: the policies of the shorter length classes are not one for each of them."""


class VocabularyInvalidError(ArtifactError):
    """A-27: the vocabulary is no WordPiece vocabulary, or larger than the model's."""


class TableDigestMismatchError(ArtifactError):
    """A-28: client.safetensors is not the file that public.json was written with."""


class TableInvalidError(ArtifactError):
    """A-29: the public table, or what client.json says of it, does not fit the geometry."""
