"""What can go wrong between the two parties and in what the client brings."""

from degreespar.errors import DegreeSparError


class PartyError(DegreeSparError):
    """A run between two parties cannot begin or go on."""


class IdentityFileError(PartyError):
    """A certificate or key file is missing, damaged, readable by others, or in the way."""


class HandshakeError(PartyError):
    """The peer says something other than the handshake asks for."""


class RefusedError(PartyError):
    """The server will not answer this client; its sentence says why."""


class PictureError(PartyError):
    """A picture that the model cannot take."""


class TextError(PartyError):
    """A text, or a vocabulary, that the model cannot take."""


class ProfileError(PartyError):
    """A profile's file that cannot be read or written."""
