"""Learned state as bytes with a checksum, and back, checked before anything is built (LE-7).

One JSON object: format, version, the SHA-256 of the state, and the state.  The checksum is there
because a flipped digit is still a number.
"""

import hashlib
from typing import TypeVar

import msgspec

from pml.domain.record import Record, encode
from pml.errors import SavedStateError

StateT = TypeVar("StateT")


class _File(Record, frozen=True, kw_only=True):
    format: str
    version: int
    sha256: str
    state: msgspec.Raw


def sealed(state: Record, *, form: str, version: int) -> bytes:
    """The state as bytes; equal states give equal bytes."""
    text = encode(state)
    digest = hashlib.sha256(text).hexdigest()
    return encode(_File(format=form, version=version, sha256=digest, state=msgspec.Raw(text)))


def unsealed(text: bytes, kind: type[StateT], *, form: str, version: int) -> StateT:
    """The state that `sealed` wrote.

    Raises:
        SavedStateError: another format or version, damaged, or not of this kind; says where.
    """
    try:
        file = msgspec.json.decode(text, type=_File)
        if file.format != form:
            raise SavedStateError(form, f"this is {file.format!r}")
        if file.version != version:
            found = f"version {file.version}, this PML reads version {version}"
            raise SavedStateError(form, found)
        if hashlib.sha256(file.state).hexdigest() != file.sha256:
            raise SavedStateError(form, "the checksum differs: the file was cut or changed")
        return msgspec.json.decode(file.state, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise SavedStateError(form, str(exc)) from exc
