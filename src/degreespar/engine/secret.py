"""What a program may hold of a secret: its public facts, and a payload that only an engine reads."""

from dataclasses import dataclass
from typing import Any, NoReturn

from degreespar.engine.ring import BitArray, Words
from degreespar.errors import DegreeSparError


class SecretError(DegreeSparError):
    """A program tried to look at a secret."""


def _refuse(_self: object, *_: Any) -> NoReturn:
    raise SecretError("a secret cannot be looked at, compared or branched on: reveal it instead")


@dataclass(frozen=True, eq=False, repr=False)
class Secret:
    """Fixed-point numbers shared modulo 2^bits: value * 2^frac_bits, with |value| <= bound.

    `payload` has the tensor's shape; what its words mean is the engine's business (a share, the
    value itself, zeros).
    """

    payload: Words
    bits: int
    frac_bits: int
    bound: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The public shape."""
        return self.payload.shape

    def __repr__(self) -> str:
        return f"Secret(shape={self.shape}, bits={self.bits}, frac_bits={self.frac_bits})"

    __bool__ = __int__ = __float__ = __index__ = __iter__ = __len__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __array__ = __getitem__ = _refuse
    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False, repr=False)
class SecretBits:
    """Bits shared by exclusive or (one byte each)."""

    payload: BitArray

    @property
    def shape(self) -> tuple[int, ...]:
        """The public shape."""
        return self.payload.shape

    def __repr__(self) -> str:
        return f"SecretBits(shape={self.shape})"

    __bool__ = __int__ = __float__ = __index__ = __iter__ = __len__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __array__ = __getitem__ = _refuse
    __hash__ = None  # type: ignore[assignment]
