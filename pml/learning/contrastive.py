r"""The loss of a ranking: what served above what did not, and what failed made unlikely (LE-5).

With :math:`s_i` the scores of a query's candidates and P those that served,

.. math::
    L_{\text{served}} = \frac{1}{|P|} \sum_{p \in P}
        -\log \frac{e^{s_p}}{e^{s_p} + \sum_{n \notin P} e^{s_n}}

is InfoNCE (A. van den Oord, Y. Li, O. Vinyals, arXiv:1807.03748, equation 4) for several positives:
each competes with the negatives alone, not with the others that served as well.  A choice f that
failed is a negative; its own loss

.. math:: L_{\text{failed}} = -\log (1 - p_f), \quad p = \mathrm{softmax}(s)

(S. Welleck et al., "Neural text generation with unlikelihood training", ICLR 2020,
arXiv:1908.04319, equation 4) makes it less likely also where nobody knows what would have served.
Its gradient on the score of f is :math:`p_f`; the other scores rise in the order in which they
stand, so no two of them change places.

A softmax tells nothing of a score's height, which is what a chance is read from.  The log loss of
each candidate by itself, :math:`-\log \sigma(\pm s_i)`, ties the scores of different queries to one
scale; it is a small share of the whole.

Where candidates are sampled, ``log_q`` is the logarithm of each one's chance to be among them.
Taken off the scores it makes the sum over the sample an unbiased estimate of the sum over all
(Y. Bengio, J.-S. Senecal, IEEE Transactions on Neural Networks 19(4), 2008, section III; X. Yi et
al., RecSys 2019, section 3.2, for candidates shared by a batch).
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWeights:
    """Of the parts beside what served."""

    failures: float
    binary: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Marks:
    """What is known of the candidates of some queries."""

    positives: Bool[Tensor, "queries candidates"]
    failed: Bool[Tensor, "queries candidates"]


def losses(
    scores: Float[Tensor, "queries candidates"],
    marks: Marks,
    log_q: Float[Tensor, " candidates"],
    weights: LossWeights,
) -> Float[Tensor, " queries"]:
    """All parts of the loss of each query; 0 where nothing is known of its answers."""
    corrected = scores - log_q
    binary = binary_loss(scores, marks, log_q)
    served, failed = served_loss(corrected, marks.positives), failed_loss(corrected, marks.failed)
    return served + weights.failures * failed + weights.binary * binary


def served_loss(
    scores: Float[Tensor, "queries candidates"], positives: Bool[Tensor, "queries candidates"]
) -> Float[Tensor, " queries"]:
    """InfoNCE over several positives; 0 for a query without one."""
    negatives = _log_sum(scores, ~positives)  # (queries,)
    each = F.softplus(negatives.unsqueeze(1) - scores)  # (queries, candidates)
    counts = positives.sum(dim=1).clamp(min=1)
    return torch.where(positives, each, 0.0).sum(dim=1) / counts


def failed_loss(
    scores: Float[Tensor, "queries candidates"], failed: Bool[Tensor, "queries candidates"]
) -> Float[Tensor, " queries"]:
    """Unlikelihood of the failed choices together; 0 without one, or without another candidate."""
    others = _log_sum(scores, ~failed)
    chosen = _log_sum(scores, failed)
    known = failed.any(dim=1) & ~failed.all(dim=1)
    return torch.where(known, F.softplus(chosen - others), 0.0)


def binary_loss(
    scores: Float[Tensor, "queries candidates"],
    marks: Marks,
    log_q: Float[Tensor, " candidates"],
) -> Float[Tensor, " queries"]:
    """Log loss of each candidate by itself, summed over candidates, by the number of positives.

    What is not known to have served counts as not having served, for a query with a positive; for
    one without, only the failed choices count.
    """
    signs = torch.where(marks.positives, -scores, scores)
    each = F.softplus(signs) * torch.exp(-log_q)
    counts = marks.positives.sum(dim=1, keepdim=True)
    counted = (counts > 0) | marks.failed
    return torch.where(counted, each, 0.0).sum(dim=1) / counts.squeeze(1).clamp(min=1)


@torch.no_grad()
def errors(
    scores: Float[Tensor, "queries candidates"],
    marks: Marks,
    log_q: Float[Tensor, " candidates"],
) -> Float[Tensor, " queries"]:
    """How wrong each query's prediction is, from 0 to 1, for prioritised replay.

    One minus the chance that the softmax gives what served, among it and the negatives; of a
    query with failed choices alone, the chance that it gives those.
    """
    corrected = scores - log_q
    wrong = 1 - torch.exp(-served_loss(corrected, marks.positives))
    chosen = 1 - torch.exp(-failed_loss(corrected, marks.failed))
    return torch.where(marks.positives.any(dim=1), wrong, chosen)


def _log_sum(
    scores: Float[Tensor, "queries candidates"], counted: Bool[Tensor, "queries candidates"]
) -> Float[Tensor, " queries"]:
    """Log of the sum of exponentials over what is counted; the least number for nothing.

    The least number and not minus infinity, whose differences have no gradient.
    """
    least = torch.finfo(scores.dtype).min / 4
    return torch.logsumexp(scores.masked_fill(~counted, least), dim=1)
