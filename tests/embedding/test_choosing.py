"""What `PML_ENCODER` may say (MCP-1's dense part, D5)."""

from pathlib import Path

import pytest

from pml.embedding.choosing import chosen_encoder
from pml.embedding.static import default_encoder
from pml.errors import ConfigError
from tests.embedding.made import written


@pytest.mark.parametrize("unset", [None, ""])
def test_unset_means_the_shipped_encoder(unset: str | None) -> None:
    assert chosen_encoder(unset) is default_encoder()


def test_none_means_words_only() -> None:
    assert chosen_encoder("none") is None


def test_a_folder_of_ours_is_read_without_sentence_transformers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    encoder = chosen_encoder(str(written(tmp_path / "mine")))
    assert encoder is not None
    assert encoder.name.startswith("mine@")


def test_a_damaged_folder_of_ours_is_an_error_and_not_the_default(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(ConfigError):
        chosen_encoder(str(folder))
