"""The key of the log, kept outside the database (design, section 5, rule 8).

AES-256-GCM (NIST SP 800-38D) with a random nonce.  Each run has its own key, derived from
the ledger's, so that the bound on random nonces (2^32 messages a key) is never near.
"""

import base64
import binascii
import hashlib
import hmac
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pml.errors import ConfigError, LedgerKeyError

VARIABLE = "PML_LEDGER_KEY"
FILE_NAME = "ledger.key"
_KEY_BYTES = 32
_NONCE_BYTES = 12


class LedgerKey:
    """Encrypts what runs did, and hashes what must be compared without being known."""

    def __init__(self, key: bytes, origin: str) -> None:
        if len(key) != _KEY_BYTES:
            message = f"a ledger key has {_KEY_BYTES} bytes, this one {len(key)}"
            raise ValueError(message)
        self._key = key
        self._origin = origin
        """Where the key came from, for people."""
        self._run_cipher = lru_cache(maxsize=256)(self._derive_cipher)

    @classmethod
    def load(cls, data_dir: Path, environ: Mapping[str, str]) -> "LedgerKey":
        """The key in ``PML_LEDGER_KEY``, else of ``data_dir/ledger.key``, made if there is none.

        Raises:
            ConfigError: the variable or the file holds no base64 of 32 bytes.
            LedgerKeyError: the file cannot be read or made.
        """
        if text := environ.get(VARIABLE):
            return cls(_decoded(text, VARIABLE), VARIABLE)
        path = data_dir / FILE_NAME
        try:
            if not path.exists():
                _make(path)
            return cls(_decoded(path.read_text(encoding="ascii"), str(path)), str(path))
        except (OSError, UnicodeDecodeError) as error:
            message = f"the ledger's key {path} cannot be used: {error}; or set {VARIABLE}"
            raise LedgerKeyError(message) from error

    def encrypt(self, run_id: str, label: str, plain: bytes) -> bytes:
        """Nonce and ciphertext; bound to the run and to ``label``, its place in the run."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._run_cipher(run_id).encrypt(nonce, plain, _bound_to(run_id, label))

    def decrypt(self, run_id: str, label: str, sealed: bytes) -> bytes:
        """The inverse of `encrypt`.

        Raises:
            LedgerKeyError: another key encrypted it, or it was altered or moved.
        """
        nonce, text = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._run_cipher(run_id).decrypt(nonce, text, _bound_to(run_id, label))
        except (InvalidTag, ValueError) as error:
            message = (
                f"{label} of run {run_id} cannot be decrypted with the key from {self._origin}: "
                f"restore the {FILE_NAME} (or {VARIABLE}) with which it was written; "
                "if that is the key at hand, the database was altered"
            )
            raise LedgerKeyError(message) from error

    def hmac(self, text: str) -> str:
        """HMAC-SHA256 as hex: equal for equal texts, and tells nothing else."""
        key = self._derive("hmac")
        return hmac.new(key, text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()

    def _derive(self, purpose: str) -> bytes:
        return hmac.new(self._key, purpose.encode(), hashlib.sha256).digest()

    def _derive_cipher(self, run_id: str) -> AESGCM:
        return AESGCM(self._derive(f"run:{run_id}"))


def _bound_to(run_id: str, label: str) -> bytes:
    return f"{run_id}\0{label}".encode()


def _decoded(text: str, source: str) -> bytes:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        message = (
            "expected base64 of 32 bytes; make a key with "
            "`python -c 'import base64, os; print(base64.b64encode(os.urandom(32)).decode())'`"
        )
        raise ConfigError(source, message)
    return key


def _make(path: Path) -> None:
    """Make the file whole or not at all; if another process was faster, its key counts."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(os.urandom(_KEY_BYTES)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        Path(name).unlink()
