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


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("some.encoder", "which is a file and no folder"),
        ("./some.encoder", "which is a file and no folder"),
        ("empty", r"a folder without modules\.json or config\.json; expected"),
        (
            "trained.encoder",
            r"modules\.json or config\.json \(the encoder is in 'trained.*static'\)",
        ),
        ("./nothing", "where there is nothing"),
        ("some/where/else", "where there is nothing"),
    ],
)
def test_a_path_to_something_else_is_told_in_words_of_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fault: str
) -> None:
    """And not in those of the model hub, which is not asked about it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    Path("some.encoder").write_text("bytes")
    Path("empty").mkdir()
    Path("trained.encoder").mkdir()
    written(Path("trained.encoder") / "pml-static")
    with pytest.raises(ConfigError, match=f"PML_ENCODER: names '{name}', .*{fault}") as caught:
        chosen_encoder(name)
    assert "expected the folder of an encoder, or the name of a" in str(caught.value)


@pytest.mark.parametrize("name", ["BAAI/bge-m3", "all-MiniLM-L6-v2", "x" * 5_000, "a.b/c.encoder"])
def test_what_may_be_a_models_name_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match="sentence-transformers cannot be imported"):
        chosen_encoder(name)
