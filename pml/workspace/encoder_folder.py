"""The folder of an encoder: what makes vectors of texts, fitted to a data set.

Two encoders side by side: the general one that PML ships (or one trained on the data set's own
texts), and latent words of the catalogue and its training intents (`pml.discovery.latent`).
"""

import io
import zlib
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from pml.discovery.latent import JoinedEncoder, LatentWords
from pml.discovery.ports import Encoder
from pml.embedding.static import load_static
from pml.errors import ConfigError

STATIC, LATENT = "pml-static", "latent.npz"
"""In the folder.  The general encoder is named by its folder; its hash tells trained ones apart."""

_UNREADABLE = (OSError, ValueError, EOFError, RuntimeError, BadZipFile, zlib.error)
"""What a cut or changed archive may raise; RuntimeError where it seems encrypted."""


def read_encoder(folder: Path) -> Encoder:
    """What `write_encoder` left in a folder.

    Raises:
        ConfigError: a file is missing or damaged.
    """
    static = load_static(folder / STATIC)
    path = folder / LATENT
    if not path.exists():
        return static
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            latent = LatentWords.from_arrays(dict(arrays))
    except _UNREADABLE as exc:
        message = f"expected the arrays of an encoder ({exc}): train again"
        raise ConfigError(str(path), message) from exc
    return JoinedEncoder([static, latent])
