"""Which encoder search uses: the one that is shipped, unless `PML_ENCODER` says otherwise."""

from pathlib import Path

from pml.discovery.ports import Encoder
from pml.embedding.folder import is_static
from pml.embedding.sentence import load_encoder
from pml.embedding.static import default_encoder, load_static

WITHOUT = "none"
"""What `PML_ENCODER` says where search is to go by words only."""


def chosen_encoder(name: str | None) -> Encoder | None:
    """Load what a name means; may take seconds, so call it in a thread.

    Args:
        name: ``none``; the folder of a static encoder; the folder or name of any other
            sentence-transformers model; None or nothing for the encoder that PML ships.

    Raises:
        ConfigError: there is no such model, or it cannot be used.
    """
    if not name:
        return default_encoder()
    if name == WITHOUT:
        return None
    if is_static(Path(name)):
        return load_static(Path(name))
    return load_encoder(name)
