"""A folder that cannot be used is refused whole, with what is wrong and what to do (D5)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models

from pml.embedding.folder import MODULES_FILE, TOKENIZER_FILE, WEIGHTS_FILE, is_static, read_static
from pml.errors import ConfigError
from tests.embedding.made import trained, written


def _arrays(change: Callable[[dict[str, np.ndarray]], None]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        arrays = load_file(folder / WEIGHTS_FILE)
        change(arrays)
        save_file(arrays, folder / WEIGHTS_FILE)

    return damage


def _cut(name: str, keep: float) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(len(content) * keep)])

    return damage


def _nan(arrays: dict[str, np.ndarray]) -> None:
    arrays["weights"][3] = np.nan


def _infinite(arrays: dict[str, np.ndarray]) -> None:
    arrays["weights"][3] = np.inf


def _fewer_rows(arrays: dict[str, np.ndarray]) -> None:
    arrays["embeddings"] = arrays["embeddings"][:-1]
    arrays["weights"] = arrays["weights"][:-1]


def _fewer_weights(arrays: dict[str, np.ndarray]) -> None:
    arrays["weights"] = arrays["weights"][:-1]


def _no_dimension(arrays: dict[str, np.ndarray]) -> None:
    arrays["embeddings"] = arrays["embeddings"][:, :0]


def _flat(arrays: dict[str, np.ndarray]) -> None:
    arrays["embeddings"] = arrays["embeddings"].ravel()


def _floats(arrays: dict[str, np.ndarray]) -> None:
    arrays["embeddings"] = arrays["embeddings"].astype(np.float32)


def _no_rows(arrays: dict[str, np.ndarray]) -> None:
    del arrays["embeddings"]


def _huge(arrays: dict[str, np.ndarray]) -> None:
    arrays["weights"][3] = 3e38


def _tokenizer(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = json.loads((folder / TOKENIZER_FILE).read_text())
        change(content["model"])
        (folder / TOKENIZER_FILE).write_text(json.dumps(content))

    return damage


def _another_number(model: dict[str, Any]) -> None:
    model["vocab"][max(model["vocab"], key=model["vocab"].__getitem__)] = 10**6


def _one_number_twice(model: dict[str, Any]) -> None:
    first, second, *_ = model["vocab"]
    model["vocab"][first] = model["vocab"][second]


def _no_unknown(model: dict[str, Any]) -> None:
    model["unk_token"] = "[NONE]"  # of a tokenizer


def _other_floats(folder: Path) -> None:
    """Numbers that numpy does not have."""
    header = {"embeddings": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}
    told = json.dumps(header).encode()
    (folder / WEIGHTS_FILE).write_bytes(len(told).to_bytes(8, "little") + told + bytes(2))


DAMAGES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "no weights": (lambda folder: (folder / WEIGHTS_FILE).unlink(), WEIGHTS_FILE, "cannot be read"),
    "no tokenizer": (
        lambda folder: (folder / TOKENIZER_FILE).unlink(),
        TOKENIZER_FILE,
        "cannot be read",
    ),
    "half the weights": (_cut(WEIGHTS_FILE, 0.5), WEIGHTS_FILE, "damaged or cut off"),
    "empty weights": (_cut(WEIGHTS_FILE, 0.0), WEIGHTS_FILE, "damaged or cut off"),
    "half a tokenizer": (_cut(TOKENIZER_FILE, 0.5), TOKENIZER_FILE, "as a tokenizer"),
    "NaN": (_arrays(_nan), WEIGHTS_FILE, "NaN"),
    "infinite": (_arrays(_infinite), WEIGHTS_FILE, "NaN or infinite"),
    "fewer rows": (_arrays(_fewer_rows), WEIGHTS_FILE, "tokens"),
    "fewer weights": (_arrays(_fewer_weights), WEIGHTS_FILE, "one per token"),
    "no dimension": (_arrays(_no_dimension), WEIGHTS_FILE, "by token and dimension"),
    "one axis": (_arrays(_flat), WEIGHTS_FILE, "by token and dimension"),
    "floats": (_arrays(_floats), WEIGHTS_FILE, "8-bit integers"),
    "huge": (_arrays(_huge), WEIGHTS_FILE, "may overflow"),
    "other floats": (_other_floats, WEIGHTS_FILE, "damaged"),
    "another number": (_tokenizer(_another_number), TOKENIZER_FILE, "not those from 0"),
    "one number twice": (_tokenizer(_one_number_twice), TOKENIZER_FILE, "not those from 0"),
    "nothing for unknown words": (_tokenizer(_no_unknown), TOKENIZER_FILE, "as a tokenizer"),
    "no rows": (_arrays(_no_rows), WEIGHTS_FILE, "lacks 'embeddings'"),
}


@pytest.mark.parametrize(("damage", "file", "said"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_folder_is_an_error_that_names_the_file_the_fault_and_the_cure(
    tmp_path: Path, damage: Callable[[Path], None], file: str, said: str
) -> None:
    folder = written(tmp_path)
    damage(folder)
    with pytest.raises(ConfigError) as caught:
        read_static(folder)
    assert caught.value.source == str(folder / file)
    assert said in str(caught.value)
    assert "PML_ENCODER" in str(caught.value)


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path)
    Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1})).save(str(folder / TOKENIZER_FILE))
    with pytest.raises(ConfigError, match="has 2 tokens"):
        read_static(folder)


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    model = read_static(written(tmp_path))
    restored = model.rows * model.weights[:, None]
    largest = np.abs(trained().rows).max(axis=1, keepdims=True)
    assert np.all(np.abs(restored - trained().rows) <= largest / 127 * 0.501)


def test_one_changed_byte_of_either_file_is_another_hash(tmp_path: Path) -> None:
    folder = written(tmp_path)
    before = read_static(folder).hash
    content = bytearray((folder / WEIGHTS_FILE).read_bytes())
    content[-1] ^= 1
    (folder / WEIGHTS_FILE).write_bytes(content)
    assert read_static(folder).hash != before


@pytest.mark.parametrize(
    "modules",
    [
        "not json",
        "{}",
        "[1]",
        json.dumps([{"type": "sentence_transformers.models.Transformer"}]),
        json.dumps([{"type": "sentence_transformers.models.StaticEmbedding"}]),
    ],
)
def test_another_models_folder_is_not_taken_for_ours(tmp_path: Path, modules: str) -> None:
    (tmp_path / MODULES_FILE).write_text(modules)
    assert not is_static(tmp_path)


def test_our_folder_is_recognised_and_none_is_not(tmp_path: Path) -> None:
    assert is_static(written(tmp_path / "ours"))
    assert not is_static(tmp_path / "nothing there")


def test_modules_that_are_nested_without_end_are_no_static_encoder(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / MODULES_FILE).write_text("[" * 100_000)
    assert not is_static(folder)
