"""The package: a trained model, the encoder of its vectors and a card, in one file.

What serves needs all of them, of the same training: a model of other vectors ranks at random and
raises nothing.  So they travel together, in a ZIP archive whose manifest holds the SHA-256 of
every part and says what the model belongs to (graph, encoder, data, seed).  Parts are bytes here,
untouched; `pml.models` and `pml.embedding` read them.

Nothing is executed or unpacked to disk on reading, and equal parts make equal files: the archive
holds no times.
"""

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from pml.domain.record import Record, decode, encode
from pml.errors import SavedStateError

FORMAT = 1
"""A reader refuses others."""
MOST_BYTES = 1 << 30
"""Of all parts together; a larger archive is damaged or meant to harm."""
MANIFEST, MODEL, CARD, ENCODER = "manifest.json", "model.bin", "card.md", "encoder/"
_WHAT = "model package"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that the format knows."""


class TaskVerdict(Record, frozen=True, kw_only=True):
    """What held-back requests said of the model for one task."""

    task: str
    metric: str
    model: float
    """Its mean over the intents."""
    fallback: float
    """Of the simple method that it was compared with, for the same intents."""
    fallback_name: str
    """That method, which serves where the model does not."""
    intents: int
    p: float
    """One-sided: how often chance alone would favour the model as much."""
    switched_on: bool
    cold_intents: int = 0
    """Asked for servers that models were trained without, beside ``intents``."""
    cold_share: float = 0.0
    """How much these count, of 1: where a tenth of the tools is on servers that nobody has used."""


class Manifest(Record, frozen=True, kw_only=True):
    """What a package is, and the SHA-256 of every part."""

    format: int
    name: str
    graph: str
    """Identity of the hypergraph that the parameters are of (LE-7)."""
    encoder: str
    """Identity of the encoder of the vectors; the name of a model where it is not in here."""
    data: str
    """SHA-256 of the data set that taught it."""
    seed: int
    pml_version: str
    verdicts: tuple[TaskVerdict, ...] = ()
    parameters: dict[str, str | int | float | bool] = msgspec.field(default_factory=dict)
    """Of the training, by their names in params.yaml."""
    parts: dict[str, str] = msgspec.field(default_factory=dict)
    """SHA-256 in hex, by name."""

    @property
    def switched_on(self) -> bool:
        """Whether it beats the fallback in any task."""
        return any(verdict.switched_on for verdict in self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Package:
    """The parts; ``manifest.parts`` may be empty, as `packed` fills it in."""

    manifest: Manifest
    model: bytes
    """As `pml.models` exports it."""
    encoder: Mapping[str, bytes]
    """Files by name; none where the encoder has to be had elsewhere, by its name."""
    card: str


_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What `zipfile` raises on damage; the last where a flipped bit says that a part is encrypted."""


def packed(package: Package) -> bytes:
    """The package as a file; equal packages make equal bytes."""
    parts = dict(_parts(package))
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in parts.items()}
    manifest = msgspec.structs.replace(package.manifest, parts=sums)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in {MANIFEST: _indented(manifest), **parts}.items():
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            archive.writestr(entry, content)
    return buffer.getvalue()


def unpacked(content: bytes) -> Package:
    """Read a package; every part is what its manifest says.

    Raises:
        SavedStateError: it is no package, damaged, or of another format; nothing is returned.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = _read(archive)
    except _UNREADABLE as exc:
        raise SavedStateError(_WHAT, f"is no whole archive ({exc})") from exc
    manifest = _manifest(parts.pop(MANIFEST, None))
    _check_parts(manifest, parts)
    return Package(
        manifest=manifest,
        model=parts[MODEL],
        encoder={
            name.removeprefix(ENCODER): part
            for name, part in parts.items()
            if name.startswith(ENCODER)
        },
        card=parts[CARD].decode("utf-8"),
    )


def _parts(package: Package) -> Iterator[tuple[str, bytes]]:
    yield MODEL, package.model
    yield CARD, package.card.encode()
    for name in sorted(package.encoder):
        yield f"{ENCODER}{name}", package.encoder[name]


def _indented(manifest: Manifest) -> bytes:
    """For people who look into the archive."""
    return json.dumps(json.loads(encode(manifest)), indent=2).encode() + b"\n"


def _read(archive: zipfile.ZipFile) -> dict[str, bytes]:
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise SavedStateError(_WHAT, "holds a part twice")
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise SavedStateError(_WHAT, f"says that it holds more than {MOST_BYTES:,} bytes")
    return {entry.filename: archive.read(entry) for entry in entries}


def _manifest(part: bytes | None) -> Manifest:
    if part is None:
        message = f"has no {MANIFEST}: expected a file that `pml package` wrote"
        raise SavedStateError(_WHAT, message)
    try:
        said = json.loads(part)
        found = said.get("format") if isinstance(said, dict) else None
        if found != FORMAT:
            message = f"is of format {found}, this PML reads {FORMAT}: write it anew"
            raise SavedStateError(_WHAT, message)
        return decode(Manifest, part)
    except (ValueError, msgspec.ValidationError) as exc:
        raise SavedStateError(_WHAT, f"has a damaged {MANIFEST} ({exc})") from exc


def _check_parts(manifest: Manifest, parts: Mapping[str, bytes]) -> None:
    for needed in (MODEL, CARD):
        if needed not in parts:
            raise SavedStateError(_WHAT, f"lacks {needed}")
    if set(parts) != set(manifest.parts):
        other = min(set(parts) ^ set(manifest.parts))
        raise SavedStateError(_WHAT, f"{other}: manifest and archive disagree whether it is there")
    for name, content in parts.items():
        if hashlib.sha256(content).hexdigest() != manifest.parts[name]:
            raise SavedStateError(_WHAT, f"{name} is not what the manifest says: damaged")
