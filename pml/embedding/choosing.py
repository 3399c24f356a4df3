"""Which encoder search uses: the one that is shipped, unless `PML_ENCODER` says otherwise."""

import os
from pathlib import Path

from pml.discovery.ports import Encoder
from pml.embedding.folder import MODULES_FILE, is_static
from pml.embedding.sentence import VARIABLE, load_encoder
from pml.embedding.static import default_encoder, load_static
from pml.errors import ConfigError

WITHOUT = "none"
"""What `PML_ENCODER` says where search is to go by words only."""
_MODEL_FILES = (MODULES_FILE, "config.json")
"""A folder that sentence-transformers can load has one of them."""


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
    if fault := _no_folder_of_a_model(name):
        message = (
            f"names {name!r}, {fault}; expected the folder of an encoder, or the name of a "
            f"sentence-transformers model: correct it, or unset {VARIABLE}: PML brings an encoder "
            "of its own"
        )
        raise ConfigError(VARIABLE, message)
    return load_encoder(name)


def _no_folder_of_a_model(name: str) -> str:
    """Why a path is of no encoder; empty where it may be, or where it may be a model's name."""
    if os.path.isdir(name):  # noqa: PTH112  # a Path refuses names that are too long
        return _no_model_in(Path(name))
    if os.path.exists(name):  # noqa: PTH110
        return "which is a file and no folder"
    is_path = name.startswith(("/", ".", "~")) or name.count("/") > 1 or name.endswith("/")
    return "where there is nothing" if is_path else ""


def _no_model_in(folder: Path) -> str:
    try:
        found = sorted(folder.iterdir())
    except OSError as exc:
        return f"a folder that cannot be read ({exc.strerror})"
    if {each.name for each in found}.intersection(_MODEL_FILES):
        return ""
    inside = next((str(each) for each in found if is_static(each)), None)
    hint = "" if inside is None else f" (the encoder is in {inside!r})"
    return f"a folder without {' or '.join(_MODEL_FILES)}{hint}"
