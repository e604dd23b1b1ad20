"""The two JSON parts as values: valid once they exist."""

from __future__ import annotations

import math
import string
from dataclasses import dataclass

from degreespar.artifact.canonical import CLIENT_FORMAT, PUBLIC_FORMAT, VERSION
from degreespar.artifact.errors import (
    ClientPartInvalidError,
    LabelsInvalidError,
    MalformedDigestError,
    NameInvalidError,
    PolicyInvalidError,
    PolicyShapeMismatchError,
    WrongFieldsError,
)
from degreespar.artifact.geometry import VitGeometry
from degreespar.artifact.manifest import WeightEntry, check_manifest
from degreespar.degree import DegreePolicy, PolicyError
from degreespar.degree.strict_json import take_float, take_int, take_list, take_object, take_str

MAX_TEXT_LENGTH = 200
# What a normalised pixel may become: beyond this a mean or a deviation is a mistake.
LARGEST_MEAN, SMALLEST_STD, LARGEST_STD = 16.0, 2.0**-8, 16.0
MAX_INPUT_FRAC_BITS = 16
DIGEST_LENGTH = 64


@dataclass(frozen=True)
class Digests:
    """SHA-256 of the two files that belong to a public.json."""

    client: str
    server: str

    def __post_init__(self) -> None:
        for digest in (self.client, self.server):
            hexadecimal = set(digest) <= set(string.digits + "abcdef")
            if len(digest) != DIGEST_LENGTH or not hexadecimal:
                raise MalformedDigestError("a digest must be 64 lower-case hexadecimal digits")


@dataclass(frozen=True)
class PublicPart:
    """What both parties know: the model's name, shape, degrees, list of weights and labels."""

    name: str
    geometry: VitGeometry
    policy: DegreePolicy
    weights: tuple[WeightEntry, ...]
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not _is_text(self.name):
            raise NameInvalidError(f"a model's name must be 1..{MAX_TEXT_LENGTH} printable characters")
        _check_policy_shape(self.policy, self.geometry)
        check_manifest(self.weights, self.geometry)
        _check_labels(self.labels, self.geometry.classes)

    @property
    def weights_bytes(self) -> int:
        """How many bytes all tensors have."""
        return sum(entry.size_bytes for entry in self.weights)

    def weight(self, name: str) -> WeightEntry:
        """The entry of one tensor that the geometry asks for; `check_manifest` made sure of it."""
        return next(entry for entry in self.weights if entry.name == name)

    def to_json(self, digests: Digests) -> dict[str, object]:
        """The content of public.json."""
        return {
            "format": PUBLIC_FORMAT,
            "version": VERSION,
            "name": self.name,
            "geometry": self.geometry.to_json(),
            "policy": self.policy.to_json(),
            "weights": [entry.to_json() for entry in self.weights],
            "labels": list(self.labels),
            "digests": {"client.json": digests.client, "server.safetensors": digests.server},
        }


@dataclass(frozen=True)
class ClientPart:
    """How the client turns pixels into numbers: pixel / 255, minus mean, over std, per channel."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    input_frac_bits: int

    def __post_init__(self) -> None:
        if not self.mean or len(self.mean) != len(self.std):
            raise ClientPartInvalidError("mean and std must have one number for each channel")
        for mean, std in zip(self.mean, self.std, strict=True):
            finite = math.isfinite(mean) and math.isfinite(std)
            if not (finite and abs(mean) <= LARGEST_MEAN and SMALLEST_STD <= std <= LARGEST_STD):
                raise ClientPartInvalidError(f"the mean {mean} or the deviation {std} is out of range")
        bits = self.input_frac_bits
        if type(bits) is not int or not 0 <= bits <= MAX_INPUT_FRAC_BITS:
            raise ClientPartInvalidError(f"input_frac_bits must lie in 0..{MAX_INPUT_FRAC_BITS}")

    def to_json(self) -> dict[str, object]:
        """The content of client.json."""
        return {
            "format": CLIENT_FORMAT,
            "version": VERSION,
            "mean": [float(value) for value in self.mean],
            "std": [float(value) for value in self.std],
            "input_frac_bits": self.input_frac_bits,
        }


def public_from_json(value: object) -> tuple[PublicPart, Digests]:
    """Reads what `PublicPart.to_json` wrote."""
    keys = ("format", "version", "name", "geometry", "policy", "weights", "labels", "digests")
    parts = take_object(value, keys, "public.json", WrongFieldsError)
    weights = take_list(parts["weights"], "weights", WrongFieldsError)
    labels = take_list(parts["labels"], "labels", WrongFieldsError)
    digests = take_object(
        parts["digests"], ("client.json", "server.safetensors"), "digests", WrongFieldsError
    )
    public = PublicPart(
        name=take_str(parts["name"], "name", WrongFieldsError),
        geometry=VitGeometry.from_json(parts["geometry"], "geometry"),
        policy=_policy_from_json(parts["policy"]),
        weights=tuple(
            WeightEntry.from_json(entry, f"weights[{index}]") for index, entry in enumerate(weights)
        ),
        labels=tuple(take_str(label, "labels", WrongFieldsError) for label in labels),
    )
    return public, Digests(
        client=take_str(digests["client.json"], "digests.client.json", WrongFieldsError),
        server=take_str(digests["server.safetensors"], "digests.server.safetensors", WrongFieldsError),
    )


def client_from_json(value: object) -> ClientPart:
    """Reads what `ClientPart.to_json` wrote."""
    keys = ("format", "version", "mean", "std", "input_frac_bits")
    parts = take_object(value, keys, "client.json", WrongFieldsError)
    return ClientPart(
        mean=_floats(parts["mean"], "mean"),
        std=_floats(parts["std"], "std"),
        input_frac_bits=take_int(parts["input_frac_bits"], "input_frac_bits", WrongFieldsError),
    )


def check_channels(client: ClientPart, geometry: VitGeometry) -> None:
    """The client's numbers must be one for each channel of the geometry."""
    if len(client.mean) != geometry.channels:
        raise ClientPartInvalidError(
            f"mean and std have {len(client.mean)} channels, but the model has {geometry.channels}"
        )


def _policy_from_json(value: object) -> DegreePolicy:
    try:
        return DegreePolicy.from_json(value)
    except PolicyError as error:
        raise PolicyInvalidError(f"the degree policy is not valid: {error}") from error


def _floats(value: object, where: str) -> tuple[float, ...]:
    items = take_list(value, where, WrongFieldsError)
    return tuple(take_float(item, where, WrongFieldsError) for item in items)


def _check_policy_shape(policy: DegreePolicy, geometry: VitGeometry) -> None:
    if len(policy.layers) != geometry.layers:
        raise PolicyShapeMismatchError(
            f"the policy has {len(policy.layers)} layers, but the model has {geometry.layers}"
        )
    # A policy is sound by itself: as many tokens enter a layer as leave the one before.
    if policy.layers[0].tokens != geometry.tokens:
        raise PolicyShapeMismatchError(
            f"{policy.layers[0].tokens} tokens enter the policy, but the model has {geometry.tokens}"
        )
    for index, layer in enumerate(policy.layers):
        expected = geometry.ffn_widths[index]
        if layer.ffn_width != expected:
            raise PolicyShapeMismatchError(
                f"layer {index} of the policy has {layer.ffn_width} ffn units, but the model has {expected}"
            )


def _check_labels(labels: tuple[str, ...], classes: int) -> None:
    if len(labels) != classes:
        raise LabelsInvalidError(f"there are {len(labels)} labels for {classes} classes")
    for index, label in enumerate(labels):
        if not _is_text(label):
            raise LabelsInvalidError(f"label {index} must be 1..{MAX_TEXT_LENGTH} printable characters")


def _is_text(value: str) -> bool:
    # Names and labels reach a terminal: control characters could rewrite it.
    return 1 <= len(value) <= MAX_TEXT_LENGTH and value.isprintable()
