"""Training of the static encoder: the loss against its formula, seeds, and what is learned (D5)."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pml.embedding.bags import Bags, embed
from pml.embedding.pairs import Corpus, ToolText
from pml.embedding.training import info_nce, train_encoder
from tests.embedding.made import CONFIG, corpus, trained

BAGS = st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=8)


@given(tokens=BAGS, data=st.data())
def test_a_bag_gives_each_text_the_sum_of_its_own_rows(
    tokens: list[list[int]], data: st.DataObject
) -> None:
    taken = data.draw(st.lists(st.integers(0, len(tokens) - 1), min_size=1, max_size=8))
    rows = torch.from_numpy(np.random.default_rng(0).standard_normal((10, 3)).astype(np.float32))
    sums = embed(rows, Bags(tokens).take(np.array(taken)))
    expected = [sum((rows[one] for one in tokens[text]), torch.zeros(3)) for text in taken]
    assert torch.allclose(sums, torch.stack(expected), atol=1e-5)


@given(tokens=BAGS, seed=st.integers(0, 99))
def test_dropout_leaves_each_text_some_of_its_own_tokens(
    tokens: list[list[int]], seed: int
) -> None:
    everything = np.arange(len(tokens))
    flat, starts = Bags(tokens).take(everything, dropout=0.5, rng=np.random.default_rng(seed))
    kept = [part.tolist() for part in np.split(flat.numpy(), starts.numpy()[1:])]
    for before, after in zip(tokens, kept, strict=True):
        assert bool(before) == bool(after)
        assert all(after.count(one) <= before.count(one) for one in after)


def test_the_loss_is_the_mean_cross_entropy_over_prefixes_and_directions() -> None:
    rng = np.random.default_rng(1)
    anchors, targets = rng.standard_normal((3, 4)), rng.standard_normal((5, 4))
    same = np.zeros((3, 5), bool)
    same[0, 1] = same[2, 4] = True
    losses = []
    for prefix in (2, 4):
        left, right = anchors[:, :prefix], targets[:, :prefix]
        cosines = (left / np.linalg.norm(left, axis=1, keepdims=True)) @ (
            right / np.linalg.norm(right, axis=1, keepdims=True)
        ).T
        shares = np.where(same, 0, np.exp(cosines / 0.1))
        own = np.diag(shares)
        losses.append(-np.log(own / shares.sum(axis=1)).mean())
        losses.append(-np.log(own / shares[:, :3].sum(axis=0)).mean())
    loss = info_nce(
        torch.from_numpy(anchors), torch.from_numpy(targets), torch.from_numpy(same), (2, 4), 0.1
    )
    assert loss.item() == pytest.approx(np.mean(losses))


def test_the_same_seed_gives_the_same_weights_to_the_bit_and_another_seed_others() -> None:
    again, other = train_encoder(corpus(), CONFIG, seed=5), train_encoder(corpus(), CONFIG, seed=6)
    assert again.tokenizer.to_str() == trained().tokenizer.to_str()
    assert np.array_equal(again.rows, trained().rows)
    assert not np.array_equal(other.rows, trained().rows)


def test_the_loss_falls() -> None:
    told: list[tuple[int, float]] = []
    train_encoder(corpus(), CONFIG, seed=0, on_epoch=lambda *each: told.append(each))
    assert [epoch for epoch, _ in told] == list(range(CONFIG.epochs))
    assert told[-1][1] < told[0][1]


def test_unknown_words_weigh_nothing() -> None:
    unknown = trained().tokenizer.token_to_id("[UNK]")
    assert not trained().rows[unknown].any()
    assert np.isfinite(trained().rows).all()


@pytest.mark.parametrize("tools", [(), (ToolText(id="a", server="s", name="a", description=""),)])
def test_a_corpus_without_pairs_is_refused(tools: tuple[ToolText, ...]) -> None:
    with pytest.raises(ValueError, match="no pairs of texts"):
        train_encoder(Corpus(tools=tools), CONFIG, seed=0)


def test_a_corpus_of_two_tools_can_be_learned_from() -> None:
    two = Corpus(tools=corpus().tools[:2])
    assert np.isfinite(train_encoder(two, CONFIG, seed=0).rows).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"prefixes": (8, 32)},
        {"prefixes": (8,)},
        {"prefixes": ()},
        {"dropout": 1.0},
        {"random_share": 1.5},
        {"temperature": 0.0},
    ],
)
def test_settings_that_cannot_be_trained_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"prefixes|dropout"):
        replace(CONFIG, **wrong)  # type: ignore[arg-type]
