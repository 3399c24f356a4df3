"""Properties of attention over pairs that hold whatever its parameters are (LE-5)."""

import pytest
import torch
from jaxtyping import TypeCheckError
from torch import Tensor

from pml.models.attention import PairAttention, Pairs, TorchAggregation, segment_softmax
from pml.models.config import ShgatConfig

CONFIG = ShgatConfig(dim=1, heads=2, head_dim=3)
SOURCES, TARGETS = torch.tensor([0, 1, 2, 2, 3]), torch.tensor([0, 0, 0, 1, 1])
PAIRS = Pairs(sources=SOURCES, targets=TARGETS, n_sources=4, n_targets=3)
"""Targets with sources {0, 1, 2}, {2, 3} and none."""

Parts = tuple[Tensor, Tensor, Tensor]


@pytest.fixture
def parts() -> Parts:
    """Values, queries and score."""
    gen = torch.Generator().manual_seed(0)
    return (
        torch.randn(4, 2, 3, generator=gen, dtype=torch.float64),
        torch.randn(3, 2, 3, generator=gen, dtype=torch.float64),
        torch.randn(2, 3, generator=gen, dtype=torch.float64),
    )


@pytest.fixture
def layer() -> PairAttention:
    generator = torch.Generator().manual_seed(1)
    made = PairAttention(CONFIG)
    for values in made.parameters():
        values.data = torch.randn(values.shape, generator=generator)
    return made.double()


def test_a_target_without_sources_gets_zeros(parts: Parts) -> None:
    assert torch.all(TorchAggregation(PAIRS)(*parts)[2] == 0)


def test_the_order_of_the_pairs_does_not_matter(parts: Parts) -> None:
    shuffle = torch.tensor([4, 2, 0, 3, 1])
    turned = Pairs(sources=SOURCES[shuffle], targets=TARGETS[shuffle], n_sources=4, n_targets=3)
    torch.testing.assert_close(TorchAggregation(turned)(*parts), TorchAggregation(PAIRS)(*parts))


def test_a_single_source_is_passed_through(parts: Parts) -> None:
    values, queries, score = parts
    one = Pairs(sources=torch.tensor([3]), targets=torch.tensor([0]), n_sources=4, n_targets=1)
    torch.testing.assert_close(TorchAggregation(one)(values, queries[:1], score), values[3:4])


def test_a_source_reaches_only_its_own_targets(parts: Parts) -> None:
    values, queries, score = parts
    before = TorchAggregation(PAIRS)(values, queries, score)
    values[0] += 1
    changed = (TorchAggregation(PAIRS)(values, queries, score) != before).flatten(1).any(1)
    assert changed.tolist() == [True, False, False]


def test_the_target_steers_the_attention(parts: Parts) -> None:
    values, queries, score = parts
    before = TorchAggregation(PAIRS)(values, queries, score)
    changed = (TorchAggregation(PAIRS)(values, queries + 1, score) != before).flatten(1).any(1)
    assert changed.tolist() == [True, True, False]


def test_gradients_of_the_aggregation_agree_with_finite_differences(parts: Parts) -> None:
    inputs = [part.requires_grad_() for part in parts]
    assert torch.autograd.gradcheck(TorchAggregation(PAIRS), inputs)


def test_gradients_of_the_layer_agree_with_finite_differences(layer: PairAttention) -> None:
    gen = torch.Generator().manual_seed(2)
    sources = torch.randn(4, 6, generator=gen, dtype=torch.float64, requires_grad=True)
    targets = torch.randn(3, 6, generator=gen, dtype=torch.float64, requires_grad=True)
    aggregate = TorchAggregation(PAIRS)

    def run(sources: Tensor, targets: Tensor, *_: Tensor) -> Tensor:
        after: Tensor = layer(layer.values(sources), targets, aggregate)
        return after

    assert torch.autograd.gradcheck(run, (sources, targets, *layer.parameters()))


def test_a_shut_gate_lets_nothing_in_and_can_open(layer: PairAttention) -> None:
    with torch.no_grad():
        layer.gate[0] = 0
    targets = torch.ones(3, 6, dtype=torch.float64)
    values = layer.values(torch.ones(4, 6, dtype=torch.float64))
    after = layer(values, targets, TorchAggregation(PAIRS))
    assert torch.equal(after[:, :3], targets[:, :3])
    assert not torch.equal(after[:, 3:], targets[:, 3:])
    after.sum().backward()
    assert layer.gate.grad is not None
    assert layer.gate.grad[0] != 0


def test_softmax_survives_large_logits() -> None:
    logit = torch.tensor([[1e4], [1e4], [-1e4]])
    out = segment_softmax(logit, torch.tensor([0, 0, 1]), n_segments=2)
    assert out.squeeze().tolist() == [0.5, 0.5, 1.0]


def test_no_pairs_are_no_problem() -> None:
    none = torch.zeros(0, dtype=torch.int64)
    aggregate = TorchAggregation(Pairs(sources=none, targets=none, n_sources=0, n_targets=2))
    aggregated = aggregate(torch.zeros(0, 2, 3), torch.ones(2, 2, 3), torch.ones(2, 3))
    assert torch.equal(aggregated, torch.zeros(2, 2, 3))


def test_a_wrong_shape_is_named() -> None:
    with pytest.raises(TypeCheckError, match="pairs"):
        Pairs(sources=SOURCES, targets=TARGETS[:-1], n_sources=4, n_targets=3)
