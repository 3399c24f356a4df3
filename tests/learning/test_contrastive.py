"""The loss (LE-5) against the formulas written out, and laws of its gradient."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from pml.learning.contrastive import (
    LossWeights,
    Marks,
    binary_loss,
    errors,
    failed_loss,
    losses,
    served_loss,
)

WEIGHTS = LossWeights(failures=1.0, binary=0.1)


@st.composite
def batches(draw: st.DrawFn) -> tuple[int, int, int]:
    """Seed, queries, candidates."""
    return draw(st.integers(0, 10**6)), draw(st.integers(1, 4)), draw(st.integers(1, 6))


def drawn(batch: tuple[int, int, int], *, spread: float = 3.0) -> tuple[Tensor, Marks]:
    """Scores, and marks of which none, some or all may be set."""
    seed, queries, candidates = batch
    generator = torch.Generator().manual_seed(seed)
    scores = spread * torch.randn(queries, candidates, generator=generator, dtype=torch.float64)
    kind = torch.randint(0, 4, (queries, candidates), generator=generator)
    return scores, Marks(positives=kind == 0, failed=kind == 1)


def nothing_sampled(scores: Tensor) -> Tensor:
    return scores.new_zeros(scores.shape[1])


@given(batches())
def test_what_served_competes_with_negatives_alone(batch: tuple[int, int, int]) -> None:
    scores, marks = drawn(batch)
    found = served_loss(scores, marks.positives)
    for row, (own, positive) in enumerate(
        zip(np.exp(scores.numpy()), marks.positives.numpy(), strict=True)
    ):
        negatives = own[~positive].sum()
        expected = [-np.log(one / (one + negatives)) for one in own[positive]]
        assert found[row].item() == pytest.approx(np.mean(expected) if expected else 0.0)


@given(batches())
def test_one_positive_makes_it_cross_entropy(batch: tuple[int, int, int]) -> None:
    scores, _ = drawn(batch)
    served = torch.arange(len(scores)) % scores.shape[1]
    positives = F.one_hot(served, scores.shape[1]).bool()
    expected = F.cross_entropy(scores, served, reduction="none")
    torch.testing.assert_close(served_loss(scores, positives), expected)


@given(batches())
def test_what_failed_is_made_unlikely(batch: tuple[int, int, int]) -> None:
    scores, marks = drawn(batch)
    chances = torch.softmax(scores, dim=1)
    failing = torch.where(marks.failed, chances, 0.0).sum(dim=1)
    expected = torch.where(
        marks.failed.any(dim=1) & ~marks.failed.all(dim=1), -torch.log1p(-failing), 0.0
    )
    torch.testing.assert_close(failed_loss(scores, marks.failed), expected)


@given(batches())
def test_the_loss_falls_where_what_failed_gets_less_likely(batch: tuple[int, int, int]) -> None:
    scores, marks = drawn(batch)
    lower = scores - marks.failed.double()
    known = marks.failed.any(dim=1) & ~marks.failed.all(dim=1)
    before, after = failed_loss(scores, marks.failed), failed_loss(lower, marks.failed)
    assert torch.all(after[known] < before[known])


@given(batches(), st.floats(0.01, 1.0))
def test_a_failure_lowers_its_choice_and_no_others_change_places(
    batch: tuple[int, int, int], rate: float
) -> None:
    scores, _ = drawn(batch)
    failed = torch.zeros_like(scores, dtype=torch.bool)
    failed[:, 0] = True
    scores.requires_grad_()
    (slope,) = torch.autograd.grad(failed_loss(scores, failed).sum(), scores)
    after = (scores - rate * slope).detach()
    before = scores.detach()
    if scores.shape[1] > 1:
        assert torch.all(after.softmax(1)[:, 0] < before.softmax(1)[:, 0])
    order, new_order = before[:, 1:].argsort(dim=1), after[:, 1:].argsort(dim=1)
    assert torch.equal(order, new_order)


@given(batches())
def test_a_candidate_that_was_likely_to_be_left_out_counts_for_those_left_out(
    batch: tuple[int, int, int],
) -> None:
    """With a chance of a half it counts as two of its kind."""
    scores, marks = drawn(batch)
    unknown = scores[:, :1] * 0.5
    none = torch.zeros_like(unknown, dtype=torch.bool)

    def beside(times: int, log_q: float) -> tuple[Tensor, Marks, Tensor]:
        with_them = torch.cat([scores, *[unknown] * times], dim=1)
        known = Marks(
            positives=torch.cat([marks.positives, *[none] * times], dim=1),
            failed=torch.cat([marks.failed, *[none] * times], dim=1),
        )
        chances = nothing_sampled(with_them)
        chances[scores.shape[1] :] = log_q
        return with_them, known, chances

    twice, half = beside(2, 0.0), beside(1, float(np.log(0.5)))
    torch.testing.assert_close(losses(*half, WEIGHTS), losses(*twice, WEIGHTS))
    torch.testing.assert_close(errors(*half), errors(*twice))


@given(batches())
def test_gradients_agree_with_finite_differences(batch: tuple[int, int, int]) -> None:
    scores, marks = drawn(batch)
    log_q = torch.linspace(-1.0, 0.0, scores.shape[1], dtype=torch.float64)
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda own: losses(own, marks, log_q, WEIGHTS), (scores,))


@given(batches(), st.sampled_from([1e2, 1e4, 1e30]))
def test_extreme_scores_keep_losses_and_gradients_finite(
    batch: tuple[int, int, int], spread: float
) -> None:
    scores, marks = drawn(batch, spread=spread)
    scores = scores.float().requires_grad_()
    found = losses(scores, marks, nothing_sampled(scores), WEIGHTS)
    (slope,) = torch.autograd.grad(found.sum(), scores)
    assert torch.isfinite(found).all()
    assert torch.isfinite(slope).all()


@given(batches())
def test_a_query_of_which_nothing_is_known_teaches_nothing(batch: tuple[int, int, int]) -> None:
    scores, marks = drawn(batch)
    unknown = Marks(
        positives=torch.zeros_like(marks.positives), failed=torch.zeros_like(marks.failed)
    )
    scores.requires_grad_()
    found = losses(scores, unknown, nothing_sampled(scores), WEIGHTS)
    (slope,) = torch.autograd.grad(found.sum(), scores)
    assert not found.any()
    assert not slope.any()


@given(batches())
def test_the_order_of_candidates_does_not_matter(batch: tuple[int, int, int]) -> None:
    scores, marks = drawn(batch)
    order = torch.randperm(scores.shape[1], generator=torch.Generator().manual_seed(0))
    turned = Marks(positives=marks.positives[:, order], failed=marks.failed[:, order])
    torch.testing.assert_close(
        losses(scores[:, order], turned, nothing_sampled(scores), WEIGHTS),
        losses(scores, marks, nothing_sampled(scores), WEIGHTS),
    )


@given(batches())
def test_the_log_loss_of_candidates_is_torchs(batch: tuple[int, int, int]) -> None:
    scores, marks = drawn(batch)
    each = F.binary_cross_entropy_with_logits(
        scores, marks.positives.double(), reduction="none"
    ).numpy()
    found = binary_loss(scores, marks, nothing_sampled(scores))
    for row, (positive, failed) in enumerate(
        zip(marks.positives.numpy(), marks.failed.numpy(), strict=True)
    ):
        expected = each[row].sum() / positive.sum() if positive.any() else each[row][failed].sum()
        assert found[row].item() == pytest.approx(expected)


@given(batches())
def test_errors_are_chances_of_being_wrong(batch: tuple[int, int, int]) -> None:
    scores, marks = drawn(batch)
    found = errors(scores, marks, nothing_sampled(scores))
    assert torch.all((found >= 0) & (found <= 1))
    known = marks.positives.any(dim=1)
    better = scores + 5 * marks.positives.double()
    assert torch.all(errors(better, marks, nothing_sampled(scores))[known] <= found[known])
