"""The served encoder: a text's vector depends on the text alone (LE-8's dense retriever, D5)."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.embedding.static import BLOCK, default_encoder, load_static
from tests.embedding.made import corpus, written

TEXTS = st.lists(st.text(max_size=30) | st.sampled_from(["", "getCar", "send_letter to Zoë"]))


@given(texts=TEXTS)
def test_vectors_are_unit_or_zero_and_finite(texts: list[str]) -> None:
    vectors = default_encoder().encode(texts)
    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


@given(texts=TEXTS)
def test_a_text_has_the_same_vector_to_the_bit_whatever_stands_beside_it(
    texts: list[str],
) -> None:
    encoder = default_encoder()
    alone = [encoder.encode([text])[0] for text in texts]
    together = encoder.encode(texts)
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))


def test_more_tokens_than_a_block_are_encoded_as_each_text_alone() -> None:
    texts = [f"read file number {number}" for number in range(BLOCK // 3)]
    encoder = default_encoder()
    assert np.array_equal(encoder.encode(texts)[-1], encoder.encode(texts[-1:])[0])


def test_a_text_of_many_blocks_has_the_vector_of_its_words_and_needs_little_memory() -> None:
    encoder = default_encoder()
    encoder.encode(["read file"])
    tracemalloc.start()
    vectors = encoder.encode(["read a file ", "read a file " * BLOCK])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)
    assert peak < 2 * BLOCK * 256 * 5 * 2


def test_half_a_surrogate_pair_is_read_over() -> None:
    vectors = default_encoder().encode(["read \ud800 file", "read ? file"])
    assert np.array_equal(vectors[0], vectors[1])
    assert vectors.any()


@pytest.mark.parametrize("text", ["", "   ", "?!…", "_-_", "\U0001f9ff\U0001f9ff"])
def test_a_text_without_a_known_word_has_the_zero_vector(text: str) -> None:
    assert not default_encoder().encode([text]).any()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("readFile", "read_file"),
        ("READ FILE", "read file"),
        ("naïve café", "naive cafe"),
        ("read, file!", "read file"),
    ],
)
def test_spellings_of_the_same_words_have_the_same_vector(one: str, other: str) -> None:
    vectors = default_encoder().encode([one, other])
    assert np.array_equal(vectors[0], vectors[1])


def test_the_shipped_encoder_finds_tools_never_seen_by_what_they_are_for() -> None:
    tools = [
        "zorb.move_money: Transfers an amount from one bank account to another. amount iban",
        "agenda.drop: Removes an event from the calendar. eventId",
        "qux.post: Delivers an email to somebody. to body",
    ]
    intents = ["make a payment to my landlord", "delete the meeting", "write a message to Ann"]
    encoder = default_encoder()
    cosines = encoder.encode(intents) @ encoder.encode(tools).T
    assert np.argmax(cosines, axis=1).tolist() == [0, 1, 2]


def test_the_name_tells_weights_apart_and_is_the_same_wherever_they_lie(tmp_path: Path) -> None:
    ours, copy = (load_static(written(tmp_path / one / "model")) for one in ("a", "b"))
    assert ours.name == copy.name
    assert ours.name.startswith("model@")
    assert ours.name.rpartition("@")[2] != default_encoder().name.rpartition("@")[2]


def test_the_shipped_files_are_small_and_have_a_card() -> None:
    folder = Path(__file__).parents[2] / "pml" / "embedding" / "default"
    assert sum(file.stat().st_size for file in folder.rglob("*")) < 12_000_000
    card = (folder / "README.md").read_text()
    for name in ("sealtools", "toolbench", "toollinkos", "mcp_tools", "bfcl_multiturn"):
        assert name in card


def test_a_trained_folder_encodes_what_it_was_trained_on(tmp_path: Path) -> None:
    encoder = load_static(written(tmp_path))
    tools = corpus().tools
    cosines = (
        encoder.encode([tool.name for tool in tools])
        @ encoder.encode([tool.description for tool in tools]).T
    )
    assert np.mean(np.argmax(cosines, axis=1) == np.arange(len(tools))) > 0.8
