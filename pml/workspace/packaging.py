"""The stage `package`: model, encoder and card in one file, checked against each other."""

from collections.abc import Mapping
from pathlib import Path

from pml.domain.record import Record
from pml.errors import ConfigError, SavedStateError
from pml.models.exported import ExportedShgat
from pml.models.model_file import from_bytes
from pml.tracking.package import FORMAT, Manifest, Package, packed, unpacked
from pml.tracking.tracked import Scalar
from pml.workspace.card import card
from pml.workspace.encoder_folder import read_encoder
from pml.workspace.layout import MODEL_NAME, encoder_beside
from pml.workspace.verdicts import task_verdicts


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
        message = f"{exc}; expected a package: `pml package MODEL --out FILE` makes one of a model"
        raise ConfigError(str(path), message) from exc
    _check(package.manifest, model, str(path))
    return package


def packaged(model: Path, encoder: Path | None, out: Path) -> None:
    """Write the package of a model file.

    Args:
        model: The file.
        encoder: Folder of its encoder; None is the one that `pml train` put beside it.
        out: Where to.

    Raises:
        ConfigError: a file cannot be read or written, is damaged, or the encoder is another one
            than the model's.
    """
    content, read = read_model(model)
    folder = encoder or encoder_beside(model)
    found = read_encoder(folder).name
    if found != read.encoder:
        message = (
            f"the model needs the encoder {read.encoder}, and this is {found}: name the folder "
            "that `pml train` wrote beside the model with --encoder, or train again"
        )
        raise ConfigError(str(folder), message)
    made = package_of(content, read, encoder_files(folder), {})
    try:
        out.write_bytes(made)
    except OSError as exc:
        message = f"--out expected a file to write to ({exc.strerror or exc})"
        raise ConfigError(str(out), message) from exc


def package_of(
    content: bytes,
    model: ExportedShgat,
    encoder: Mapping[str, bytes],
    parameters: Mapping[str, Scalar],
) -> bytes:
    """A model's bytes with what it needs, as a file; read back before it is handed out."""
    manifest = Manifest(
        format=FORMAT,
        name=MODEL_NAME,
        graph=model.graph.identity,
        encoder=model.encoder,
        data=model.data_hash,
        seed=model.seed,
        pml_version=model.pml_version,
        verdicts=task_verdicts(model.gate, model.metrics, model.fallbacks),
        parameters=dict(parameters),
    )
    package = Package(manifest=manifest, model=content, encoder=encoder, card=card(manifest, model))
    made = packed(package)
    unpacked(made)
    return made


def encoder_files(folder: Path) -> dict[str, bytes]:
    """The files of an encoder's folder, by their paths within it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


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
