"""The stage `package`: model, encoder and card in one file, checked against each other."""

from collections.abc import Mapping
from pathlib import Path

from pml.domain.record import Record
from pml.errors import ConfigError, RequestError, SavedStateError
from pml.models.exported import ExportedShgat
from pml.models.model_file import from_bytes
from pml.tracking.package import FORMAT, Manifest, Package, packed, unpacked
from pml.tracking.tracked import Scalar
from pml.workspace.card import card
from pml.workspace.training import task_verdicts

NAME = "shgat"
"""Of the model, in a registry."""


class PackageFacts(Record, frozen=True, kw_only=True):
    """What a package holds, for people and programs."""

    file: str
    bytes: int
    manifest: Manifest


def read_model(path: Path) -> tuple[bytes, ExportedShgat]:
    """An exported model: its bytes, and what they say.

    Raises:
        ConfigError: the file cannot be read, is damaged or is no model.
    """
    content = _read(path, "a model that `pml train` wrote")
    try:
        return content, from_bytes(content)
    except SavedStateError as exc:
        raise ConfigError(str(path), str(exc)) from exc


def read_package(path: Path) -> Package:
    """A package, with a model in it that can be read.

    Raises:
        ConfigError: the file cannot be read, is damaged or is no package.
    """
    content = _read(path, "a package that `pml package` wrote")
    try:
        package = unpacked(content)
        model = from_bytes(package.model)
    except SavedStateError as exc:
        raise ConfigError(str(path), str(exc)) from exc
    _check(package.manifest, model, str(path))
    return package


def package_of(
    content: bytes,
    model: ExportedShgat,
    encoder: Mapping[str, bytes],
    parameters: Mapping[str, Scalar],
) -> bytes:
    """A model's bytes with what it needs, as a file; read back before it is handed out."""
    manifest = Manifest(
        format=FORMAT,
        name=NAME,
        graph=model.graph.identity,
        encoder=model.encoder,
        data=model.data_hash,
        seed=model.seed,
        pml_version=model.pml_version,
        verdicts=task_verdicts(model),
        parameters=dict(parameters),
    )
    package = Package(manifest=manifest, model=content, encoder=encoder, card=card(manifest, model))
    made = packed(package)
    unpacked(made)
    return made


def encoder_files(folder: Path) -> dict[str, bytes]:
    """The files of an encoder's folder.

    Raises:
        RequestError: there is no such folder, or it is empty.
    """
    if not folder.is_dir():
        message = f"--encoder expected the folder of an encoder, and {folder} is none"
        raise RequestError(message)
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    if not found:
        message = f"--encoder expected the folder of an encoder, and {folder} is empty"
        raise RequestError(message)
    return found


def _read(path: Path, expected: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        message = f"expected {expected}; it cannot be read ({exc.strerror or exc})"
        raise ConfigError(str(path), message) from exc


def _check(manifest: Manifest, model: ExportedShgat, source: str) -> None:
    for what, said, found in (
        ("graph", manifest.graph, model.graph.identity),
        ("encoder", manifest.encoder, model.encoder),
        ("data", manifest.data, model.data_hash),
    ):
        if said != found:
            message = f"the manifest says {what} {said}, the model was trained on {found}"
            raise ConfigError(source, message)
