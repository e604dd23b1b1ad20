"""Each rule of docs/spec/artifact.md broken: one named error, one sentence."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from degreespar.artifact import (
    ArtifactError,
    ClientPart,
    VitGeometry,
    errors,
    read_client,
    read_public,
    read_server,
)
from degreespar.artifact.canonical import canonical_bytes
from degreespar.artifact.files import digest_of
from tests.artifact.sample import GEOMETRY, Parts

Change = Callable[[Any], object]

PUBLIC, CLIENT, SERVER = "public.json", "client.json", "server.safetensors"


def refused(error: type[ArtifactError], read: Callable[[], object]) -> str:
    """The sentence of exactly this error."""
    with pytest.raises(ArtifactError) as caught:
        read()
    assert type(caught.value) is error
    sentence = str(caught.value)
    assert sentence
    assert "\n" not in sentence
    return sentence


def change_public(directory: Path, change: Change) -> None:
    value = json.loads((directory / PUBLIC).read_bytes())
    change(value)
    (directory / PUBLIC).write_bytes(canonical_bytes(value))


def replace_file(directory: Path, name: str, content: bytes) -> None:
    """Another file, with public.json telling its digest: as a malicious writer would."""
    (directory / name).write_bytes(content)
    change_public(directory, lambda value: value["digests"].update({name: digest_of(content)}))


def change_client(directory: Path, change: Change) -> None:
    value = json.loads((directory / CLIENT).read_bytes())
    change(value)
    replace_file(directory, CLIENT, canonical_bytes(value))


def test_a01_missing_directory(tmp_path: Path) -> None:
    sentence = refused(errors.UnreadableFileError, lambda: read_public(tmp_path / "none"))
    assert "public.json" in sentence


@pytest.mark.parametrize(
    ("name", "read"), [(PUBLIC, read_public), (CLIENT, read_client), (SERVER, read_server)]
)
def test_a01_missing_file(directory: Path, name: str, read: Callable[[Path], object]) -> None:
    (directory / name).unlink()
    assert name in refused(errors.UnreadableFileError, lambda: read(directory))


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["directory", "pipe"])
def test_a01_not_a_regular_file(directory: Path, make: Callable[[Path], None]) -> None:
    (directory / PUBLIC).unlink()
    make(directory / PUBLIC)
    assert "regular" in refused(errors.UnreadableFileError, lambda: read_public(directory))


def test_a01_client_needs_no_weights(directory: Path, parts: Parts) -> None:
    (directory / SERVER).unlink()
    assert read_client(directory)[:2] == (parts.public, parts.client)


@pytest.mark.parametrize(
    ("name", "size_bytes", "read"),
    [(PUBLIC, 2**40, read_public), (CLIENT, 2**16 + 1, read_client), (SERVER, 2**40, read_server)],
)
def test_a02_file_too_large(
    directory: Path, name: str, size_bytes: int, read: Callable[[Path], object]
) -> None:
    # A sparse file: nothing of a tebibyte may be read.
    os.truncate(directory / name, size_bytes)
    assert name in refused(errors.FileTooLargeError, lambda: read(directory))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\x89PNG\r\n\x1a\n",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":"\xff"}',
        b"[" * 100_000,
        b'{"a":1}{',
    ],
)
def test_a03_not_json(directory: Path, content: bytes) -> None:
    (directory / PUBLIC).write_bytes(content)
    refused(errors.NotJsonError, lambda: read_public(directory))


@pytest.mark.parametrize("content", [b"", b"{", b'{"a":NaN}'])
def test_a03_client_not_json(directory: Path, content: bytes) -> None:
    replace_file(directory, CLIENT, content)
    refused(errors.NotJsonError, lambda: read_client(directory))


@pytest.mark.parametrize(
    "value", [[], 1, {}, {"format": "other"}, {"format": None}, {"format": "degreespar-client"}]
)
def test_a04_wrong_format(directory: Path, value: object) -> None:
    (directory / PUBLIC).write_bytes(canonical_bytes(value))
    refused(errors.WrongFormatError, lambda: read_public(directory))


def test_a04_client_file_of_another_format(directory: Path) -> None:
    change_client(directory, lambda value: value.update(format="degreespar-artifact"))
    refused(errors.WrongFormatError, lambda: read_client(directory))


@pytest.mark.parametrize("version", [0, 1, 2, "3", 3.0, True, None, 10**50])
def test_a05_wrong_version(directory: Path, version: object) -> None:
    change_public(directory, lambda value: value.update(version=version))
    refused(errors.WrongVersionError, lambda: read_public(directory))


def test_a05_no_version(directory: Path) -> None:
    change_public(directory, lambda value: value.pop("version"))
    refused(errors.WrongVersionError, lambda: read_public(directory))


def test_a05_client_of_another_version(directory: Path) -> None:
    change_client(directory, lambda value: value.update(version=1))
    assert "version 1" in refused(errors.WrongVersionError, lambda: read_client(directory))


def test_a06_not_canonical(directory: Path) -> None:
    content = (directory / PUBLIC).read_bytes()
    value = json.loads(content)
    unsorted = dict(reversed(value.items()))
    for other in (
        content[:-1],
        content + b"\n",
        json.dumps(value, sort_keys=True).encode() + b"\n",
        json.dumps(unsorted, separators=(",", ":")).encode() + b"\n",
        json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n",
        content.replace(b"1e-06", b"0.000001"),
        content.replace(b'"name":"small"', b'"name":"other","name":"small"'),
        content.replace(b"1e-06", b"1e999"),
    ):
        assert other != content
        (directory / PUBLIC).write_bytes(other)
        refused(errors.NotCanonicalError, lambda: read_public(directory))


def test_a06_client_not_canonical(directory: Path) -> None:
    replace_file(directory, CLIENT, (directory / CLIENT).read_bytes() + b" ")
    refused(errors.NotCanonicalError, lambda: read_client(directory))


def test_a07_every_key_is_needed_and_no_other(directory: Path) -> None:
    content = (directory / PUBLIC).read_bytes()
    places: list[tuple[str, Change]] = [
        ("public.json", lambda value: value),
        ("geometry", lambda value: value["geometry"]),
        ("weights[1]", lambda value: value["weights"][1]),
        ("digests", lambda value: value["digests"]),
    ]
    for place, pick in places:
        keys = [key for key in pick(json.loads(content)) if key not in ("format", "version")]
        for key in keys:
            change_public(directory, lambda value, key=key, pick=pick: pick(value).pop(key))
            sentence = refused(errors.WrongFieldsError, lambda: read_public(directory))
            assert place in sentence
            assert repr(key) in sentence
            (directory / PUBLIC).write_bytes(content)
        change_public(directory, lambda value, pick=pick: pick(value).update(surplus=1))
        assert "'surplus'" in refused(errors.WrongFieldsError, lambda: read_public(directory))
        (directory / PUBLIC).write_bytes(content)


@pytest.mark.parametrize(
    ("place", "change"),
    [
        ("name", lambda value: value.update(name=1)),
        ("geometry", lambda value: value.update(geometry=[])),
        ("geometry.width", lambda value: value["geometry"].update(width=6.0)),
        ("geometry.width", lambda value: value["geometry"].update(width=True)),
        ("geometry.ffn_widths", lambda value: value["geometry"].update(ffn_widths=5)),
        ("geometry.ffn_widths", lambda value: value["geometry"].update(ffn_widths=[5, "7"])),
        ("geometry.layer_norm_eps", lambda value: value["geometry"].update(layer_norm_eps=1)),
        ("weights", lambda value: value.update(weights={})),
        ("weights[0]", lambda value: value["weights"].__setitem__(0, None)),
        ("weights[0].shape", lambda value: value["weights"][0].update(shape=[48, None])),
        ("weights[0].dtype", lambda value: value["weights"][0].update(dtype=16)),
        ("weights[0].name", lambda value: value["weights"][0].update(name=None)),
        ("weights[0].frac_bits", lambda value: value["weights"][0].update(frac_bits=1.0)),
        ("labels", lambda value: value.update(labels="abc")),
        ("labels", lambda value: value.update(labels=["a", "b", 3])),
        ("digests.client.json", lambda value: value["digests"].update({CLIENT: None})),
    ],
)
def test_a07_wrong_type(directory: Path, place: str, change: Change) -> None:
    change_public(directory, change)
    assert refused(errors.WrongFieldsError, lambda: read_public(directory)).startswith(f"{place} must be")


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.pop("mean"),
        lambda value: value.update(weight=1.0),
        lambda value: value.update(mean=[1, 1, 1]),
        lambda value: value.update(std=None),
        lambda value: value.update(input_frac_bits=8.0),
    ],
)
def test_a07_client_fields(directory: Path, change: Change) -> None:
    change_client(directory, change)
    refused(errors.WrongFieldsError, lambda: read_client(directory))


@pytest.mark.parametrize("name", ["", "a" * 201, "a\nb", "\x1b[31mred", "a\ud800b"])
def test_a08_name(directory: Path, name: str) -> None:
    change_public(directory, lambda value: value.update(name=name))
    refused(errors.NameInvalidError, lambda: read_public(directory))


@pytest.mark.parametrize(
    "changes",
    [
        *(
            {name: bad}
            for name in ("image_px", "patch_px", "channels", "width", "heads", "classes")
            for bad in (0, -4)
        ),
        {"image_px": 9},
        {"heads": 4},
        {"image_px": 2048},
        {"image_px": 1024, "patch_px": 1},
        {"channels": 17},
        {"width": 10**12},
        {"classes": 10**9},
        {"ffn_widths": ()},
        {"ffn_widths": (5, 0)},
        {"ffn_widths": (5, 32769)},
        {"ffn_widths": (5,) * 65},
        {"layer_norm_eps": 0.0},
        {"layer_norm_eps": -1e-6},
        {"layer_norm_eps": 0.2},
    ],
)
def test_a09_geometry(directory: Path, changes: dict[str, Any]) -> None:
    change_public(directory, lambda value: value["geometry"].update(changes))
    refused(errors.GeometryInvalidError, lambda: read_public(directory))
    refused(errors.GeometryInvalidError, lambda: replace(GEOMETRY, **changes))


@pytest.mark.parametrize(
    "changes",
    [{"width": np.int64(6)}, {"heads": 2.0}, {"layer_norm_eps": 1}, {"layer_norm_eps": float("nan")}],
)
def test_a09_geometry_of_other_types(changes: dict[str, Any]) -> None:
    refused(errors.GeometryInvalidError, lambda: replace(GEOMETRY, **changes))


@pytest.mark.parametrize(
    "change",
    [
        lambda policy: policy["layers"].clear(),
        lambda policy: policy["layers"][0].pop("bounds"),
        lambda policy: policy["layers"][0]["gelu_orders"].update(runs=[[5, 20]]),
        lambda policy: policy["layers"][1]["squarings"].update(runs=[[-1, 16]]),
        lambda policy: policy["layers"][1]["squarings"].update(rows=10**9, cols=10**9),
        lambda policy: policy["layers"][1]["bounds"].update(scores=3.0),
        lambda policy: policy["bounds"].update(final_variance=[1.0, 1.0]),
        lambda policy: policy["layers"][0]["bounds"].pop("score_variance"),
        lambda policy: policy["layers"][0].pop("selection"),
        lambda policy: policy["layers"][0].update(selection=None),
        lambda policy: policy["layers"][0].update(selection=7),
        lambda policy: policy["layers"][0]["selection"].update(ranges=[]),
        lambda policy: policy["layers"][0]["selection"].update(ranges=[3, 0]),
        lambda policy: policy["layers"][0]["selection"].update(ranges=[3, True]),
        lambda policy: policy["layers"][0]["selection"].update(ranges=[2]),
        lambda policy: policy["layers"][0]["selection"].update(ranges=[5], alpha=0.5),
        lambda policy: policy["layers"][0]["selection"].update(alpha=1.25),
        lambda policy: policy["layers"][0]["selection"].update(alpha=1),
        lambda policy: policy["layers"].pop(),
        lambda policy: policy["layers"][1].update(selection={"ranges": [3], "alpha": 0.5, "method": None}),
        lambda policy: policy["layers"][0]["selection"].update(method="sort"),
    ],
)
def test_a10_policy(directory: Path, change: Change) -> None:
    change_public(directory, lambda value: change(value["policy"]))
    refused(errors.PolicyInvalidError, lambda: read_public(directory))


@pytest.mark.parametrize(
    "change",
    [
        lambda policy: policy["layers"].append(policy["layers"][1]),
        lambda policy: policy["layers"][1].update(gelu_orders={"rows": 4, "cols": 5, "runs": [[2, 20]]}),
        lambda policy: policy["layers"][0].update(squarings={"rows": 6, "cols": 6, "runs": [[1, 36]]}),
        lambda policy: policy["layers"].pop(0),
    ],
)
def test_a11_policy_of_another_shape(directory: Path, change: Change) -> None:
    change_public(directory, lambda value: change(value["policy"]))
    refused(errors.PolicyShapeMismatchError, lambda: read_public(directory))


@pytest.mark.parametrize(
    "change",
    [
        lambda weights: weights.clear(),
        lambda weights: weights.pop(),
        lambda weights: weights.pop(3),
        lambda weights: weights.reverse(),
        lambda weights: weights.append({**weights[-1], "name": "extra"}),
        lambda weights: weights.append(weights[-1]),
        lambda weights: weights[2].update(name="layers.1.query_key_value.weight"),
        lambda weights: weights[2].update(shape=[18, 6]),
        lambda weights: weights[2].update(shape=[6, 18, 1]),
        lambda weights: weights[2].update(shape=[6, -18]),
        lambda weights: weights[2].update(shape=[6, 10**15]),
        lambda weights: weights[2].update(dtype="int64"),
        lambda weights: weights[2].update(dtype="float32"),
    ],
)
def test_a12_manifest(directory: Path, change: Change) -> None:
    change_public(directory, lambda value: change(value["weights"]))
    refused(errors.ManifestMismatchError, lambda: read_public(directory))


@pytest.mark.parametrize(("index", "frac_bits"), [(0, -1), (0, 15), (0, 10**9), (1, 11), (1, 13)])
def test_a13_frac_bits(directory: Path, index: int, frac_bits: int) -> None:
    change_public(directory, lambda value: value["weights"][index].update(frac_bits=frac_bits))
    refused(errors.FracBitsInvalidError, lambda: read_public(directory))


@pytest.mark.parametrize("frac_bits", [0, 7, 14])
def test_a13_frac_bits_in_range(directory: Path, frac_bits: int) -> None:
    change_public(directory, lambda value: value["weights"][0].update(frac_bits=frac_bits))
    assert read_public(directory)[0].weights[0].frac_bits == frac_bits


@pytest.mark.parametrize(
    "labels", [[], ["a", "b"], ["a", "b", "c", "d"], ["a", "", "c"], ["a", "b" * 201, "c"], ["a", "\r", "c"]]
)
def test_a14_labels(directory: Path, labels: list[str]) -> None:
    change_public(directory, lambda value: value.update(labels=labels))
    refused(errors.LabelsInvalidError, lambda: read_public(directory))


@pytest.mark.parametrize("name", [CLIENT, SERVER])
@pytest.mark.parametrize("digest", ["", "0" * 63, "0" * 65, "A" * 64, "g" * 64, "\u0660" * 64])
def test_a15_malformed_digest(directory: Path, name: str, digest: str) -> None:
    change_public(directory, lambda value: value["digests"].update({name: digest}))
    refused(errors.MalformedDigestError, lambda: read_public(directory))


def test_a16_tampered_client_part(directory: Path) -> None:
    value = json.loads((directory / CLIENT).read_bytes())
    value["mean"][0] = 0.75
    (directory / CLIENT).write_bytes(canonical_bytes(value))
    refused(errors.ClientDigestMismatchError, lambda: read_client(directory))


@pytest.mark.parametrize(
    "changes",
    [
        {"mean": [], "std": []},
        {"mean": [0.5], "std": [0.5]},
        {"mean": [0.5] * 3, "std": [0.5] * 2},
        {"mean": [0.5, 0.5, 17.0]},
        {"std": [0.5, 0.5, 0.0]},
        {"std": [0.5, 0.5, -1.0]},
        {"std": [0.5, 0.5, 1e-9]},
        {"std": [0.5, 0.5, 100.0]},
        {"input_frac_bits": -1},
        {"input_frac_bits": 17},
    ],
)
def test_a17_client_part(directory: Path, changes: dict[str, Any]) -> None:
    change_client(directory, lambda value: value.update(changes))
    refused(errors.ClientPartInvalidError, lambda: read_client(directory))


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a17_not_finite(number: float) -> None:
    refused(errors.ClientPartInvalidError, lambda: ClientPart((number,), (1.0,), 8))
    refused(errors.ClientPartInvalidError, lambda: ClientPart((0.0,), (number,), 8))


def test_a17_writer_refuses_another_number_of_channels(parts: Parts, tmp_path: Path) -> None:
    other = replace(parts, client=ClientPart((0.5,), (0.5,), 8))
    refused(errors.ClientPartInvalidError, lambda: other.write(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a18_one_bit_of_the_weights_tampered(directory: Path) -> None:
    content = bytearray((directory / SERVER).read_bytes())
    content[-1] ^= 1
    (directory / SERVER).write_bytes(content)
    refused(errors.ServerDigestMismatchError, lambda: read_server(directory))


@pytest.mark.parametrize("kept_bytes", [0, 7, 100, -1])
def test_a18_truncated_weights(directory: Path, kept_bytes: int) -> None:
    content = (directory / SERVER).read_bytes()
    (directory / SERVER).write_bytes(content[:kept_bytes])
    refused(errors.ServerDigestMismatchError, lambda: read_server(directory))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: b"",
        lambda content: content[:7],
        lambda content: content[:100],
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: b"\xff" * 8 + content[8:],
        lambda content: content[:8] + b"[" + content[9:],
        lambda content: b"\x80\x04\x95" + content,
        lambda content: content.replace(b'"I16"', b'"I17"'),
    ],
)
def test_a19_not_safetensors(directory: Path, spoil: Callable[[bytes], bytes]) -> None:
    replace_file(directory, SERVER, spoil((directory / SERVER).read_bytes()))
    refused(errors.TensorFileInvalidError, lambda: read_server(directory))


def spoiled_tensors(parts: Parts) -> list[dict[str, np.ndarray]]:
    whole, name = parts.tensors, "layers.0.expand.weight"
    return [
        {},
        {key: array for key, array in whole.items() if key != name},
        {**whole, "extra": np.zeros(1, dtype=np.int16)},
        {**whole, name: whole[name].T},
        {**whole, name: whole[name].ravel()},
        {**whole, name: whole[name].astype(np.int64)},
        {**whole, name: whole[name].astype(np.float32)},
        {**whole, name: whole[name].astype(np.uint16)},
        {**whole, "head.bias": whole["head.bias"].astype(np.int32)},
    ]


def test_a20_other_tensors(directory: Path, parts: Parts, tmp_path: Path) -> None:
    for tensors in spoiled_tensors(parts):
        content = save({name: np.ascontiguousarray(array) for name, array in tensors.items()})
        replace_file(directory, SERVER, content)
        refused(errors.TensorsMismatchError, lambda: read_server(directory))
        other = replace(parts, tensors=tensors)
        refused(errors.TensorsMismatchError, lambda other=other: other.write(tmp_path / "unwritten"))
    assert not (tmp_path / "unwritten").exists()


@pytest.mark.parametrize("value", [2**40, -(2**40), 2**63 - 1, -(2**63)])
def test_a21_bias_too_large(directory: Path, parts: Parts, tmp_path: Path, value: int) -> None:
    parts.tensors["head.bias"][1] = value
    refused(errors.BiasTooLargeError, lambda: parts.write(tmp_path / "unwritten"))
    replace_file(directory, SERVER, save(parts.tensors))
    refused(errors.BiasTooLargeError, lambda: read_server(directory))


def test_a21_largest_bias(parts: Parts, tmp_path: Path) -> None:
    parts.tensors["head.bias"][:2] = (2**40 - 1, 1 - 2**40)
    parts.write(tmp_path)
    assert np.array_equal(read_server(tmp_path)[1]["head.bias"], parts.tensors["head.bias"])


def test_geometry_counts() -> None:
    geometry = VitGeometry(224, 16, 3, 384, 6, (1536,) * 12, 1000, 1e-12)
    assert (geometry.patches, geometry.tokens, geometry.patch_values) == (196, 197, 768)
    assert (geometry.layers, geometry.head_width) == (12, 64)
