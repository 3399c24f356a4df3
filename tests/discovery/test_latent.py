"""Vectors by a catalogue's own words: what they keep, and that they can be stored (LE-5, LE-7)."""

import numpy as np
import pytest

from pml.discovery.latent import JoinedEncoder, LatentWords
from pml.discovery.latent_fitting import fit_latent_words

TEXTS = ("send mail to people", "send mail now", "delete file now", "delete old file", "now")


def test_with_all_dimensions_inner_products_are_cosines_of_tf_idf() -> None:
    latent = fit_latent_words(TEXTS)
    vectors = latent.encode(TEXTS).astype(np.float64)
    counts = {"send": 2, "mail": 2, "send mail": 2, "now": 3, "delet": 2, "file": 2}
    rarity = {word: 1 + np.log(6 / (1 + n)) for word, n in counts.items()}
    first, second = ["send", "mail", "send mail"], ["send", "mail", "now", "send mail"]
    shared = sum(rarity[word] ** 2 for word in first)
    lengths = [np.sqrt(sum(rarity[word] ** 2 for word in said)) for said in (first, second)]
    np.testing.assert_allclose(vectors[0] @ vectors[1], shared / np.prod(lengths), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_equal_texts_and_seeds_give_equal_vectors_and_names() -> None:
    one, other = (fit_latent_words(TEXTS, dimension=2) for _ in range(2))
    np.testing.assert_array_equal(one.encode(["send file"]), other.encode(["send file"]))
    assert one.name == other.name
    assert one.dimension == 2
    assert one.name != fit_latent_words(TEXTS, dimension=3).name


def test_a_text_of_unknown_words_is_nowhere() -> None:
    assert not fit_latent_words(TEXTS).encode(["quux", ""]).any()


def test_a_catalogue_without_words_can_be_fitted() -> None:
    assert fit_latent_words(["", "..."]).encode(["send mail"]).shape == (1, 1)


def test_what_was_stored_encodes_as_before() -> None:
    latent = fit_latent_words(TEXTS, dimension=3)
    again = LatentWords.from_arrays(latent.to_arrays())
    np.testing.assert_array_equal(again.encode(TEXTS), latent.encode(TEXTS))
    assert again.name == latent.name


def test_arrays_that_are_missing_or_do_not_fit_are_refused() -> None:
    arrays = fit_latent_words(TEXTS).to_arrays()
    with pytest.raises(ValueError, match="no array rows"):
        LatentWords.from_arrays({"words": arrays["words"]})
    with pytest.raises(ValueError, match="rows"):
        LatentWords.from_arrays({**arrays, "rows": arrays["rows"][:-1]})
    with pytest.raises(ValueError, match="finite"):
        LatentWords.from_arrays({**arrays, "rows": arrays["rows"] * np.nan})


def test_joined_encoders_weigh_the_same() -> None:
    latent = fit_latent_words(TEXTS)
    joined = JoinedEncoder([latent, latent])
    vectors = joined.encode(TEXTS)
    np.testing.assert_allclose(
        vectors @ vectors.T, latent.encode(TEXTS) @ latent.encode(TEXTS).T, atol=1e-6
    )
    assert joined.name == f"{latent.name}+{latent.name}"
