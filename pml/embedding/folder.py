"""The folder of a static encoder: what is written, and what a file must be to be used.

The layout is one that sentence-transformers loads as it is (its `StaticEmbedding`, quantised
as model2vec quantises): ``embeddings`` are rows of small integers by token, ``weights`` the
number that each row is multiplied by, and a text's vector is the mean of its tokens' rows, made
a unit vector.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int8
from safetensors import SafetensorError
from safetensors.numpy import load, save
from tokenizers import Tokenizer

from pml.errors import ConfigError

WEIGHTS_FILE = "model.safetensors"
TOKENIZER_FILE = "tokenizer.json"
MODULES_FILE = "modules.json"
_STATIC = "StaticEmbedding"
_HASH_CHARS = 16
"""Of the hash in the encoder's name: 64 bits tell the versions of one model apart."""
_NORMALIZE = "1_Normalize"
_LARGEST = 1e6
"""Weight that may be true; trained ones are below 1."""
_UNKNOWN_WORD = "x" * 1_000
"""Has to be some token; a tokenizer without one for unknown words cannot encode it."""
_MODULES = (
    ("", "sentence_transformers.models.StaticEmbedding"),
    (_NORMALIZE, "sentence_transformers.models.Normalize"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticModel:
    """A tokenizer and a row per token.

    Invariant: there are as many rows as tokens, whose numbers are those of the rows, at least one
    dimension, and all weights are finite.
    """

    tokenizer: Tokenizer
    rows: Int8[np.ndarray, "tokens dim"]
    weights: Float32[np.ndarray, " tokens"]
    """What each row is multiplied by."""
    hash: str
    """Of both files: another model has another one."""


def is_static(folder: Path) -> bool:
    """Whether a folder holds a static encoder of ours; any other model is not for us to read."""
    try:
        modules = json.loads((folder / MODULES_FILE).read_bytes())
        found = [module["type"].rsplit(".", 1)[-1] for module in modules]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
    return found == [_STATIC, "Normalize"]


def write_static(
    folder: Path,
    tokenizer: Tokenizer,
    rows: Int8[np.ndarray, "tokens dim"],
    weights: Float32[np.ndarray, " tokens"],
) -> None:
    """Write a folder that `read_static` and sentence-transformers read."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / TOKENIZER_FILE), pretty=False)
    (folder / WEIGHTS_FILE).write_bytes(save({"embeddings": rows, "weights": weights}))
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": kind}
        for number, (path, kind) in enumerate(_MODULES)
    ]
    (folder / MODULES_FILE).write_text(json.dumps(modules, indent=2) + "\n")
    (folder / _NORMALIZE).mkdir(exist_ok=True)
    (folder / _NORMALIZE / "config.json").write_text("{}\n")  # git keeps no empty folders


def read_static(folder: Path) -> StaticModel:
    """Read and check a folder that `write_static` wrote.

    Raises:
        ConfigError: a file is not there, damaged, or does not fit the other.
    """
    read = {file: _bytes(folder / file) for file in (WEIGHTS_FILE, TOKENIZER_FILE)}
    try:
        tokenizer = Tokenizer.from_buffer(read[TOKENIZER_FILE])
        tokenizer.encode(_UNKNOWN_WORD)
    except Exception as exc:  # tokenizers raises bare Exceptions
        raise _damaged(folder / TOKENIZER_FILE, f"cannot be read as a tokenizer ({exc})") from exc
    rows, weights = _arrays(folder / WEIGHTS_FILE, read[WEIGHTS_FILE])
    tokens = tokenizer.get_vocab_size()
    if len(rows) != tokens:
        message = f"has {len(rows)} rows, but {TOKENIZER_FILE} has {tokens} tokens"
        raise _damaged(folder / WEIGHTS_FILE, message)
    if set(tokenizer.get_vocab().values()) != set(range(tokens)):
        message = f"has {tokens} tokens whose numbers are not those from 0 to {tokens - 1}"
        raise _damaged(folder / TOKENIZER_FILE, message)
    digest = hashlib.sha256(b"".join(hashlib.sha256(read[file]).digest() for file in sorted(read)))
    return StaticModel(
        tokenizer=tokenizer, rows=rows, weights=weights, hash=digest.hexdigest()[:_HASH_CHARS]
    )


def _arrays(
    file: Path, content: bytes
) -> tuple[Int8[np.ndarray, "tokens dim"], Float32[np.ndarray, " tokens"]]:
    try:
        arrays = load(content)
    except (SafetensorError, LookupError) as exc:  # of types that numpy does not know
        raise _damaged(file, f"is damaged or cut off ({exc})") from exc
    rows, weights = arrays.get("embeddings"), arrays.get("weights")
    if rows is None or rows.dtype != np.int8 or rows.ndim != 2 or not rows.shape[1]:  # noqa: PLR2004
        raise _damaged(file, "lacks 'embeddings', which are 8-bit integers by token and dimension")
    if weights is None or weights.dtype != np.float32 or weights.shape != (len(rows),):
        raise _damaged(file, f"lacks 'weights', which are {len(rows)} 32-bit floats, one per token")
    if not np.isfinite(weights).all():
        raise _damaged(file, "has weights that are no finite numbers (NaN or infinite)")
    if len(weights) and np.abs(weights).max() > _LARGEST:
        raise _damaged(file, f"has weights above {_LARGEST:g}, whose sums may overflow")
    return rows, weights


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as exc:
        raise _damaged(file, f"cannot be read ({exc.strerror})") from exc


def _damaged(file: Path, what: str) -> ConfigError:
    message = (
        f"{what}; train the encoder again, copy its folder again, or name another in PML_ENCODER "
        f"(PML_ENCODER=none searches by words only)"
    )
    return ConfigError(str(file), message)
