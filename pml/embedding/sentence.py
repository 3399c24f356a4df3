"""The encoder that `PML_ENCODER` names: any sentence-transformers model, by folder or by name.

The package is an optional extra, and importing it takes some 15 s of CPU, so that it is
imported when an encoder is loaded and nowhere else.
"""

import hashlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pml.discovery.ports import Encoder
from pml.errors import ConfigError

VARIABLE = "PML_ENCODER"
_PACKAGE = "sentence_transformers"
_HASH_CHARS = 16
"""Of the weights' hash in the encoder's name: 64 bits tell the versions of one model apart."""


def load_encoder(name: str) -> Encoder:
    """Load a model; takes seconds, so call it in a thread.

    Args:
        name: A folder, or a name at the Hugging Face Hub, which may mean a download.

    Raises:
        ConfigError: the package is not installed, or there is no such model.
    """
    try:
        package = import_module(_PACKAGE)
    except ImportError as error:
        message = (
            f"names the encoder {name!r}, but sentence-transformers cannot be imported ({error}); "
            f"install it with `pip install 'pml[encoder]'`, or unset {VARIABLE}: PML brings an "
            f"encoder of its own"
        )
        raise ConfigError(VARIABLE, message) from error
    try:
        model = package.SentenceTransformer(name, device="cpu")
    except Exception as error:  # the hub, the disk, torch: each has its own
        message = (
            f"names the encoder {name!r}, which cannot be loaded ({error}); expected a folder with "
            f"a sentence-transformers model or the name of one at the Hugging Face Hub; correct "
            f"it, or unset {VARIABLE}: PML brings an encoder of its own"
        )
        raise ConfigError(VARIABLE, message) from error
    return _SentenceEncoder(model, f"{name}@{_weights_hash(model)}")


class _SentenceEncoder:
    """A model in memory, and under which name its vectors are kept."""

    def __init__(self, model: Any, name: str) -> None:  # noqa: ANN401  # of an optional package
        self._model = model
        self.name = name

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape ``(texts, dimension)``; may take long, so call it in a thread."""
        if not texts:
            return self.encode([""])[:0]
        vectors = self._model.encode(
            list(texts), normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(vectors, np.float32)


def _weights_hash(model: Any) -> str:  # noqa: ANN401  # of an optional package
    """Same weights, same hash, wherever they were loaded from."""
    digest = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(key.encode())
        digest.update(np.ascontiguousarray(tensor.detach().cpu().float().numpy()).data)
    return digest.hexdigest()[:_HASH_CHARS]
