"""A damaged folder of an encoder is refused whole, with what is wrong and what to do (D5, LE-7)."""

from pathlib import Path

import numpy as np
import pytest

from pml.discovery.latent_fitting import fit_latent_words
from pml.errors import ConfigError
from pml.workspace.encoder_folder import LATENT, STATIC, read_encoder
from tests.embedding.made import written

TEXTS = ["send mail to bob", "read a file now", "delete the file", "send the file by mail"] * 3


def test_archives_that_are_cut_or_changed_are_refused_or_say_the_same(tmp_path: Path) -> None:
    written(tmp_path / STATIC)
    np.savez_compressed(tmp_path / LATENT, **fit_latent_words(TEXTS).to_arrays())  # type: ignore[arg-type]
    whole = (tmp_path / LATENT).read_bytes()
    before = read_encoder(tmp_path).encode(TEXTS)
    rng = np.random.default_rng(0)
    cut = [whole[:end] for end in range(0, len(whole), 97)]
    changed = []
    for place in rng.integers(len(whole), size=100).tolist():
        flipped = whole[place] ^ (1 << int(rng.integers(8)))
        changed.append(whole[:place] + bytes([flipped]) + whole[place + 1 :])
    refused = 0
    for content in (*cut, *changed):
        (tmp_path / LATENT).write_bytes(content)
        try:
            np.testing.assert_array_equal(read_encoder(tmp_path).encode(TEXTS), before)
        except ConfigError as error:
            refused += "train again" in str(error)
    assert refused > len(cut) + 30


def test_a_folder_without_its_general_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_encoder(tmp_path)
