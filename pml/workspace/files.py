"""Small files of the stages."""

import json
from pathlib import Path

from pml.domain.record import to_builtins


def write_json(path: Path, value: object) -> None:
    """A record, or what JSON has, for people and for DVC; folders are made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(to_builtins(value), indent=2) + "\n", encoding="utf-8")


def write_all(folder: Path, files: dict[str, bytes]) -> None:
    """Files of a folder by name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
