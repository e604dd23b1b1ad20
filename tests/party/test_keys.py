"""Identities on disk."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from degreespar.party.errors import IdentityFileError, PartyError
from degreespar.party.keys import CERTIFICATE_FILE, KEY_FILE, load_identity, load_trusted, make_identity


def test_an_identity_is_what_was_made_and_its_key_is_private(tmp_path: Path) -> None:
    fingerprint = make_identity(tmp_path / "me", "me")
    assert load_identity(tmp_path / "me").fingerprint == fingerprint
    assert stat.S_IMODE((tmp_path / "me" / KEY_FILE).stat().st_mode) == 0o600
    assert "PRIVATE" not in (tmp_path / "me" / CERTIFICATE_FILE).read_text()


@pytest.mark.parametrize("file", [CERTIFICATE_FILE, KEY_FILE])
def test_an_identity_is_never_overwritten(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text("mine")
    with pytest.raises(IdentityFileError, match="never overwritten"):
        make_identity(tmp_path, "me")
    assert [path.name for path in tmp_path.iterdir()] == [file]
    assert (tmp_path / file).read_text() == "mine"


@pytest.mark.parametrize("name", ["", "x" * 65, "two\nlines"])
def test_a_strange_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(IdentityFileError, match="printable"):
        make_identity(tmp_path / "me", name)
    assert not (tmp_path / "me").exists()


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    make_identity(tmp_path, "me")
    (tmp_path / KEY_FILE).chmod(0o640)
    with pytest.raises(IdentityFileError, match="can be read by others"):
        load_identity(tmp_path)


@pytest.mark.parametrize("file", [CERTIFICATE_FILE, KEY_FILE])
@pytest.mark.parametrize("content", [None, b"", b"no PEM", b"\xff\xfe", bytes(65537)])
def test_a_damaged_identity_is_one_sentence(tmp_path: Path, file: str, content: bytes | None) -> None:
    make_identity(tmp_path, "me")
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(PartyError) as caught:
        load_identity(tmp_path)
    assert "\n" not in str(caught.value)


def test_two_halves_of_different_identities_are_refused(tmp_path: Path) -> None:
    make_identity(tmp_path / "a", "a")
    make_identity(tmp_path / "b", "b")
    (tmp_path / "a" / KEY_FILE).write_text((tmp_path / "b" / KEY_FILE).read_text())
    with pytest.raises(PartyError, match="does not belong"):
        load_identity(tmp_path / "a")


def test_trust_comes_from_one_file_or_several(tmp_path: Path) -> None:
    made = [make_identity(tmp_path / name, name) for name in ("a", "b", "c")]
    files = [tmp_path / name / CERTIFICATE_FILE for name in ("a", "b", "c")]
    both = tmp_path / "both.crt"
    both.write_text(files[0].read_text() + "\n" + files[1].read_text())
    assert load_trusted([both, files[2]]) == made


def test_whoever_trusts_nobody_is_told(tmp_path: Path) -> None:
    with pytest.raises(IdentityFileError, match="nobody is trusted"):
        load_trusted([])


def test_a_private_key_is_no_certificate(tmp_path: Path) -> None:
    make_identity(tmp_path, "me")
    with pytest.raises(IdentityFileError, match="no certificate"):
        load_trusted([tmp_path / KEY_FILE])
