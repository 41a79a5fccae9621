"""The seal of a package: a digest of the file's bytes, kept inside the file."""

from __future__ import annotations

import hashlib

KEY = "transom.digest"
"""The metadata key of the digest."""
BLANK = "0" * 64
"""Stands in the file while its digest is computed."""
ENTRY = b"\n\x0etransom.digest\x12@"
"""How the metadata entry begins in the file; the digest's characters follow. Inside a text these
bytes cannot be: JSON and YAML escape control characters, and a name has none."""


def seal(data: bytes) -> bytes:
    """Write the digest of `data`, a package whose digest is blank, in its place."""
    place = _place(data)
    if place is None or data[place : place + len(BLANK)] != BLANK.encode():
        raise RuntimeError(f"the file to seal has no single, blank `{KEY}`")
    digest = hashlib.sha256(data).hexdigest().encode()
    return data[:place] + digest + data[place + len(BLANK) :]


def is_damaged(data: bytes) -> bool:
    """Tell whether the digest in `data` belongs to other bytes; False where there is none."""
    if KEY.encode() not in data:
        return False
    place = _place(data)
    if place is None:
        return True
    whole, end = memoryview(data), place + len(BLANK)
    digest = hashlib.sha256(whole[:place])
    digest.update(BLANK.encode())
    digest.update(whole[end:])
    return digest.hexdigest().encode() != data[place:end]


def _place(data: bytes) -> int | None:
    """Where the digest's characters stand; None unless there is exactly one such place."""
    return data.index(ENTRY) + len(ENTRY) if data.count(ENTRY) == 1 else None
