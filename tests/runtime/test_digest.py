from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from builder.errors import PackageError
from builder.runtime import digest
from builder.runtime.package import Package

WriteEcho = Callable[..., Path]


def test_the_digest_is_that_of_the_file_with_64_zeros_in_its_place(write_echo: WriteEcho) -> None:
    data = write_echo().read_bytes()

    (stored,) = [
        entry.value
        for entry in onnx.load_from_string(data).metadata_props
        if entry.key == "transom.digest"
    ]
    start = data.index(b"transom.digest\x12@") + len("transom.digest\x12@")
    assert data[start : start + 64] == stored.encode()
    blank = data[:start] + b"0" * 64 + data[start + 64 :]
    assert hashlib.sha256(blank).hexdigest() == stored


def test_a_flipped_byte_anywhere_is_damage(write_echo: WriteEcho) -> None:
    path = write_echo()
    data = path.read_bytes()
    assert not digest.is_damaged(data)

    for place in range(0, len(data), 11):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(PackageError, match=r"echo\.onnx: "):
            Package.load(path)


def test_a_cut_or_a_second_digest_is_damage(write_echo: WriteEcho) -> None:
    data = write_echo().read_bytes()

    assert digest.is_damaged(data[:-1])
    assert digest.is_damaged(data + digest.ENTRY + b"0" * 64)
    assert digest.is_damaged(b"transom.digest")
    assert not digest.is_damaged(b"another file")


def test_zeros_of_others_stay_as_they_are(write_echo: WriteEcho) -> None:
    zeros = f"transom: 1\nname: echo\ndescription: '{'0' * 200} transom.digest {'0' * 64}'\n"
    path = write_echo(metadata={"transom.blueprint": zeros})

    assert Package.load(path).metadata.blueprint == zeros


@pytest.mark.parametrize("data", [b"", digest.ENTRY + b"1" * 64, 2 * (digest.ENTRY + b"0" * 64)])
def test_only_one_blank_digest_can_be_sealed(data: bytes) -> None:
    with pytest.raises(RuntimeError):
        digest.seal(data)
