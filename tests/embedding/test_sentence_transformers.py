"""sentence-transformers is the oracle of the served encoder: it loads the same folder (D5)."""

from pathlib import Path

import numpy as np
import pytest

from pml.embedding.choosing import chosen_encoder
from pml.embedding.sentence import load_encoder
from pml.embedding.static import load_static
from pml.errors import ConfigError
from tests.embedding.made import written

SHIPPED = Path(__file__).parents[2] / "pml" / "embedding" / "default"
TEXTS = [
    "readFile: Reads a file from the disk. path encoding",
    "please send the letter to my aunt, and then book seat 14B",
    "naïve café",
    "天気 weather",
    "x",
    "",
    "\U0001f9ff",
]


@pytest.mark.parametrize("shipped", [True, False])
def test_sentence_transformers_gives_the_same_vectors(tmp_path: Path, shipped: bool) -> None:
    folder = SHIPPED if shipped else written(tmp_path)
    ours, theirs = load_static(folder), load_encoder(str(folder))
    assert np.allclose(ours.encode(TEXTS), theirs.encode(TEXTS), atol=2e-6)


def test_a_model_that_is_not_there_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ConfigError, match="cannot be loaded") as caught:
        chosen_encoder("nobody/has-such-a-model")
    assert "PML brings" in str(caught.value)
