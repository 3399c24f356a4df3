"""The model file: an exported SHGAT as one safetensors blob, and back (LE-7).

Arrays are tensors of the blob, and the two arrays of the graph's pairs with them; all else is one
JSON text under the key ``pml`` of the blob's metadata.  The text holds a SHA-256 over everything,
as a flipped digit is still a number.  Reading checks all of it before anything is handed out.

The page for users is docs/reference/model-file.md.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from pml.domain.record import Record, decode, encode
from pml.errors import ModelFileError
from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.models.config import ShgatConfig
from pml.models.exported import ExportedShgat
from pml.models.hypergraph import Hypergraph
from pml.models.trained_ids import TrainedIds

FORMAT = "pml-shgat"
VERSION = 2
_MEMBERS, _CONTAINERS = "graph.members", "graph.containers"
_HEADER_BYTES = 8
"""A safetensors blob begins with the length of its header."""
_COPY_AGAIN = "copy or download the file again, or go back to another version of the model"
_TRAIN_AGAIN = "train again with `pml train`"


_UNREADABLE = (
    SafetensorError,
    LookupError,  # of a type of numbers that safetensors knows and numpy does not
    msgspec.DecodeError,
    UnicodeDecodeError,
    RecursionError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the caller has, and a file must fit; None fits any."""

    encoder: str | None = None
    """Name of the caller's encoder."""
    dim: int | None = None
    """Of its vectors."""
    graph: str | None = None
    """Identity of the graph that the parameters must belong to."""


class _Content(Record, frozen=True, kw_only=True):
    """All that is no array."""

    config: dict[str, Any]
    levels: tuple[tuple[str, ...], ...]
    graph: str
    trained_tools: tuple[str, ...]
    trained_capabilities: tuple[str, ...]
    tool_columns: tuple[str, ...]
    capability_columns: tuple[str, ...]
    encoder: str
    data_hash: str
    seed: int
    pml_version: str
    gate: dict[str, bool]
    fallbacks: dict[str, str]
    metrics: dict[str, float]


class _Envelope(Record, frozen=True, kw_only=True):
    format: str
    version: int
    sha256: str
    content: msgspec.Raw


class _Header(msgspec.Struct, frozen=True):
    """Of the safetensors blob; the places of its tensors are passed over."""

    metadata: dict[str, str] | None = msgspec.field(default=None, name="__metadata__")


class _Form(msgspec.Struct, frozen=True):
    """What every version has, so that another one is recognised; other keys are passed over."""

    format: str
    version: int


def to_bytes(model: ExportedShgat) -> bytes:
    """The model as a file's bytes; equal models give equal bytes."""
    arrays = {name: np.ascontiguousarray(array) for name, array in model.parameters.items()}
    arrays[_MEMBERS] = np.ascontiguousarray(model.graph.members)
    arrays[_CONTAINERS] = np.ascontiguousarray(model.graph.containers)
    content = encode(_content(model))
    envelope = _Envelope(
        format=FORMAT,
        version=VERSION,
        sha256=_digest(content, arrays),
        content=msgspec.Raw(content),
    )
    # One key only: safetensors writes several in an order that differs from process to process.
    return save(arrays, metadata={"pml": encode(envelope).decode()})


def from_bytes(data: bytes, *, expected: Expected | None = None) -> ExportedShgat:
    """The model that `to_bytes` wrote.

    Raises:
        ModelFileError: damaged, of another version, or not what is expected.
    """
    arrays, content = _opened(data)
    if content.tool_columns != TOOL_COLUMNS or content.capability_columns != CAPABILITY_COLUMNS:
        problem = "expected the feature columns of this PML, found others"
        raise ModelFileError(problem, _TRAIN_AGAIN)
    model = _model(content, arrays)
    if model.graph.identity != content.graph:
        problem = f"expected graph {content.graph}, found {model.graph.identity} in the same file"
        raise ModelFileError(problem, _COPY_AGAIN)
    _check_expected(model, expected or Expected())
    return model


def _content(model: ExportedShgat) -> _Content:
    return _Content(
        config=_plain(model.config),
        levels=model.graph.levels,
        graph=model.graph.identity,
        trained_tools=model.trained.tools,
        trained_capabilities=model.trained.capabilities,
        tool_columns=TOOL_COLUMNS,
        capability_columns=CAPABILITY_COLUMNS,
        encoder=model.encoder,
        data_hash=model.data_hash,
        seed=model.seed,
        pml_version=model.pml_version,
        gate=dict(sorted(model.gate.items())),
        fallbacks=dict(sorted(model.fallbacks.items())),
        metrics=dict(sorted(model.metrics.items())),
    )


def _opened(data: bytes) -> tuple[dict[str, np.ndarray], _Content]:
    """Arrays and the rest, once form, version and checksum are as they should be."""
    try:
        arrays = load(data)
        end = _HEADER_BYTES + int.from_bytes(data[:_HEADER_BYTES], "little")
        header = msgspec.json.decode(data[_HEADER_BYTES:end], type=_Header)
        text = (header.metadata or {}).get("pml")
        if text is None:
            problem = "expected a model file of PML, found a safetensors file of something else"
            raise ModelFileError(problem, "name the file that `pml train` wrote")
        _check_form(msgspec.json.decode(text, type=_Form))
        envelope = decode(_Envelope, text)
        if _digest(envelope.content, arrays) != envelope.sha256:
            problem = "expected the checksum written, found another"
            raise ModelFileError(problem, _COPY_AGAIN)
        return arrays, decode(_Content, bytes(envelope.content))
    except _UNREADABLE as exc:
        problem = f"expected a whole model file, found one cut or changed ({exc})"
        raise ModelFileError(problem, _COPY_AGAIN) from exc


def _check_form(form: _Form) -> None:
    if form.format != FORMAT:
        problem = f"expected format {FORMAT}, found {form.format!r}"
        raise ModelFileError(problem, "name the file that `pml train` wrote")
    if form.version != VERSION:
        remedy = "update PML" if form.version > VERSION else _TRAIN_AGAIN
        problem = f"expected version {VERSION}, found {form.version}"
        raise ModelFileError(problem, remedy)


def _model(content: _Content, arrays: Mapping[str, np.ndarray]) -> ExportedShgat:
    parameters = dict(arrays)
    try:
        config = msgspec.convert(content.config, type=ShgatConfig)
        if _plain(config) != content.config:  # msgspec passes over unknown keys
            msg = "expected the fields of ShgatConfig, found others"
            raise ValueError(msg)  # noqa: TRY301
        members, containers = _pairs(parameters, _MEMBERS), _pairs(parameters, _CONTAINERS)
        if len(members) != len(containers):
            msg = f"expected pairs, found {len(members)} members of {len(containers)} containers"
            raise ValueError(msg)  # noqa: TRY301
        return ExportedShgat(
            config=config,
            parameters=parameters,
            graph=Hypergraph(levels=content.levels, members=members, containers=containers),
            trained=TrainedIds(
                tools=content.trained_tools, capabilities=content.trained_capabilities
            ),
            encoder=content.encoder,
            data_hash=content.data_hash,
            seed=content.seed,
            pml_version=content.pml_version,
            gate=content.gate,
            fallbacks=content.fallbacks,
            metrics=content.metrics,
        )
    except ValueError as exc:  # msgspec.ValidationError is one too
        raise ModelFileError(str(exc), _TRAIN_AGAIN) from exc


def _plain(config: ShgatConfig) -> dict[str, Any]:
    """As JSON tells it: lists for tuples, names for tasks and heads."""
    return msgspec.json.decode(encode(config), type=dict[str, Any])


def _pairs(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Takes it out, so that parameters are left."""
    array = arrays.pop(name, None)
    if array is None or array.dtype != np.int64 or array.ndim != 1:
        found = "none" if array is None else f"{array.shape} of {array.dtype}"
        msg = f"expected array {name!r} of one axis of int64, found {found}"
        raise ValueError(msg)
    return array


def _check_expected(model: ExportedShgat, expected: Expected) -> None:
    if expected.encoder not in (None, model.encoder):
        problem = f"expected encoder {expected.encoder!r}, found {model.encoder!r}"
        raise ModelFileError(problem, f"set PML_ENCODER to that one, or {_TRAIN_AGAIN}")
    if expected.dim not in (None, model.config.dim):
        problem = f"expected vectors of dimension {expected.dim}, found {model.config.dim}"
        raise ModelFileError(
            problem, f"use the encoder that it was trained with, or {_TRAIN_AGAIN}"
        )
    if expected.graph not in (None, model.graph.identity):
        problem = f"expected graph {expected.graph}, found {model.graph.identity}"
        raise ModelFileError(problem, f"take the model of that graph, or {_TRAIN_AGAIN}")


def _digest(content: bytes | msgspec.Raw, arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 in hex over the text and every array's name, type, shape and values."""
    digest = hashlib.sha256(content)
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
