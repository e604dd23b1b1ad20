"""The two JSON parts as values: valid once they exist."""

from __future__ import annotations

import math
import string
from dataclasses import dataclass, replace
from typing import TypeAlias

from degreespar.artifact.bert_geometry import BertGeometry
from degreespar.artifact.canonical import CLIENT_FORMAT, PUBLIC_FORMAT, VERSION
from degreespar.artifact.errors import (
    ClientPartInvalidError,
    GeometryInvalidError,
    LabelsInvalidError,
    LengthPoliciesMismatchError,
    MalformedDigestError,
    NameInvalidError,
    PolicyInvalidError,
    PolicyShapeMismatchError,
    RevealInvalidError,
    VocabularyInvalidError,
    WrongFieldsError,
    WrongKindError,
)
from degreespar.artifact.files import CLIENT_FILE, SERVER_FILE, TABLE_FILE
from degreespar.artifact.geometry import VitGeometry
from degreespar.artifact.manifest import WeightEntry, check_manifest
from degreespar.artifact.text_part import TextPart, check_text_part, text_part_from_json
from degreespar.degree import DegreePolicy, PolicyError, TextBounds
from degreespar.degree.strict_json import take_float, take_int, take_list, take_object, take_str

MAX_TEXT_LENGTH = 200
# What a normalised pixel may become: beyond this a mean or a deviation is a mistake.
LARGEST_MEAN, SMALLEST_STD, LARGEST_STD = 16.0, 2.0**-8, 16.0
MAX_INPUT_FRAC_BITS = 16
DIGEST_LENGTH = 64
VIT, BERT = "vit", "bert"
SCORES, LABEL = "scores", "label"
"""What is opened to the client, and nothing besides it."""
Geometry: TypeAlias = VitGeometry | BertGeometry


@dataclass(frozen=True)
class Digests:
    """SHA-256 of the files that belong to a public.json; a table only where it is public."""

    client: str
    server: str
    table: str | None = None

    def __post_init__(self) -> None:
        for digest in (self.client, self.server, *([self.table] if self.table is not None else [])):
            hexadecimal = set(digest) <= set(string.digits + "abcdef")
            if len(digest) != DIGEST_LENGTH or not hexadecimal:
                raise MalformedDigestError("a digest must be 64 lower-case hexadecimal digits")

    def to_json(self) -> dict[str, object]:
        """By the names of the files."""
        table = {} if self.table is None else {TABLE_FILE: self.table}
        return {CLIENT_FILE: self.client, SERVER_FILE: self.server, **table}

    @classmethod
    def from_json(cls, value: object, with_table: bool) -> Digests:
        """Reads what `to_json` wrote."""
        names = (CLIENT_FILE, SERVER_FILE, *([TABLE_FILE] if with_table else []))
        parts = take_object(value, names, "digests", WrongFieldsError)
        texts = {name: take_str(parts[name], f"digests.{name}", WrongFieldsError) for name in names}
        return cls(texts[CLIENT_FILE], texts[SERVER_FILE], texts.get(TABLE_FILE))


@dataclass(frozen=True)
class PublicPart:
    """What both parties know: the model's name, shape, degrees, list of weights and labels.

    `policy` is that of the longest texts, `shorter_policies` those of the shorter length classes;
    `reveal` says whether the client is opened the scores or the label alone.
    """

    name: str
    geometry: Geometry
    policy: DegreePolicy
    weights: tuple[WeightEntry, ...]
    labels: tuple[str, ...]
    shorter_policies: tuple[DegreePolicy, ...] = ()
    reveal: str = SCORES

    def __post_init__(self) -> None:
        if self.reveal not in (SCORES, LABEL):
            raise RevealInvalidError(f'reveal must be "{SCORES}" or "{LABEL}", not {self.reveal[:80]!r}')
        if not _is_text(self.name):
            raise NameInvalidError(f"a model's name must be 1..{MAX_TEXT_LENGTH} printable characters")
        _check_policy_shape(self.policy, self.geometry, self.geometry.tokens)
        self._check_shorter_policies()
        check_manifest(self.weights, self.geometry)
        _check_labels(self.labels, self.geometry.classes)

    @property
    def pictures(self) -> VitGeometry:
        """The geometry of a model of pictures."""
        if not isinstance(self.geometry, VitGeometry):
            raise WrongKindError(f"{self.name} takes texts, not pictures")
        return self.geometry

    @property
    def texts(self) -> BertGeometry:
        """The geometry of a model of texts."""
        if not isinstance(self.geometry, BertGeometry):
            raise WrongKindError(f"{self.name} takes pictures, not texts")
        return self.geometry

    @property
    def length_classes(self) -> tuple[int, ...]:
        """The public lengths that an input can have, in tokens; pictures have one."""
        geometry = self.geometry
        return geometry.length_classes if isinstance(geometry, BertGeometry) else (geometry.tokens,)

    def at_length(self, tokens: int) -> PublicPart:
        """The same model for inputs of one length class."""
        if self.length_classes == (tokens,):
            return self
        policy = (*self.shorter_policies, self.policy)[self.length_classes.index(tokens)]
        return replace(self, geometry=self.texts.at_length(tokens), policy=policy, shorter_policies=())

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
            "kind": _kind(self.geometry),
            "geometry": self.geometry.to_json(),
            "policy": self.policy.to_json(),
            "shorter_policies": [policy.to_json() for policy in self.shorter_policies],
            "reveal": self.reveal,
            "weights": [entry.to_json() for entry in self.weights],
            "labels": list(self.labels),
            "digests": digests.to_json(),
        }

    def _check_shorter_policies(self) -> None:
        shorter = self.length_classes[:-1]
        if len(self.shorter_policies) != len(shorter):
            raise LengthPoliciesMismatchError(
                f"there are {len(self.shorter_policies)} shorter policies for {len(shorter)} shorter lengths"
            )
        for policy, tokens in zip(self.shorter_policies, shorter, strict=True):
            _check_policy_shape(policy, self.geometry, tokens)


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


Client: TypeAlias = ClientPart | TextPart


def public_from_json(value: object) -> tuple[PublicPart, Digests]:
    """Reads what `PublicPart.to_json` wrote."""
    keys = (
        "format", "version", "name", "kind", "geometry", "policy", "shorter_policies", "reveal", "weights",
        "labels", "digests",
    )  # fmt: skip
    parts = take_object(value, keys, "public.json", WrongFieldsError)
    weights = take_list(parts["weights"], "weights", WrongFieldsError)
    labels = take_list(parts["labels"], "labels", WrongFieldsError)
    shorter = take_list(parts["shorter_policies"], "shorter_policies", WrongFieldsError)
    public = PublicPart(
        name=take_str(parts["name"], "name", WrongFieldsError),
        geometry=_geometry_from_json(parts["kind"], parts["geometry"]),
        policy=_policy_from_json(parts["policy"]),
        weights=tuple(
            WeightEntry.from_json(entry, f"weights[{index}]") for index, entry in enumerate(weights)
        ),
        labels=tuple(take_str(label, "labels", WrongFieldsError) for label in labels),
        shorter_policies=tuple(_policy_from_json(policy) for policy in shorter),
        reveal=take_str(parts["reveal"], "reveal", WrongFieldsError),
    )
    geometry = public.geometry
    with_table = isinstance(geometry, BertGeometry) and geometry.has_public_table
    return public, Digests.from_json(parts["digests"], with_table)


def client_from_json(value: object, geometry: Geometry) -> Client:
    """Reads what `to_json` of the client's part wrote."""
    if isinstance(geometry, BertGeometry):
        return text_part_from_json(value)
    keys = ("format", "version", "mean", "std", "input_frac_bits")
    parts = take_object(value, keys, "client.json", WrongFieldsError)
    return ClientPart(
        mean=_floats(parts["mean"], "mean"),
        std=_floats(parts["std"], "std"),
        input_frac_bits=take_int(parts["input_frac_bits"], "input_frac_bits", WrongFieldsError),
    )


def check_client(client: Client, geometry: Geometry) -> None:
    """The client's part must be of the geometry's kind and fit it."""
    if isinstance(geometry, BertGeometry):
        if not isinstance(client, TextPart):
            raise VocabularyInvalidError("the client's part of a model of texts needs a vocabulary")
        check_text_part(client, geometry)
        return
    if not isinstance(client, ClientPart):
        raise ClientPartInvalidError("the client's part of a model of pictures needs mean and std")
    if len(client.mean) != geometry.channels:
        raise ClientPartInvalidError(
            f"mean and std have {len(client.mean)} channels, but the model has {geometry.channels}"
        )


def _kind(geometry: Geometry) -> str:
    return BERT if isinstance(geometry, BertGeometry) else VIT


def _geometry_from_json(kind: object, value: object) -> Geometry:
    name = take_str(kind, "kind", WrongFieldsError)
    if name == BERT:
        return BertGeometry.from_json(value, "geometry")
    if name != VIT:
        raise GeometryInvalidError(f'kind must be "{VIT}" or "{BERT}", not {name[:80]!r}')
    return VitGeometry.from_json(value, "geometry")


def _policy_from_json(value: object) -> DegreePolicy:
    try:
        return DegreePolicy.from_json(value)
    except PolicyError as error:
        raise PolicyInvalidError(f"the degree policy is not valid: {error}") from error


def _floats(value: object, where: str) -> tuple[float, ...]:
    items = take_list(value, where, WrongFieldsError)
    return tuple(take_float(item, where, WrongFieldsError) for item in items)


def _check_policy_shape(policy: DegreePolicy, geometry: Geometry, tokens: int) -> None:
    if isinstance(policy.bounds, TextBounds) != isinstance(geometry, BertGeometry):
        raise PolicyShapeMismatchError("the policy's bounds are of another kind of model")
    if len(policy.layers) != geometry.layers:
        raise PolicyShapeMismatchError(
            f"the policy has {len(policy.layers)} layers, but the model has {geometry.layers}"
        )
    # A policy is sound by itself: as many tokens enter a layer as leave the one before.
    if policy.layers[0].tokens != tokens:
        raise PolicyShapeMismatchError(
            f"{policy.layers[0].tokens} tokens enter the policy, but the model has {tokens}"
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
