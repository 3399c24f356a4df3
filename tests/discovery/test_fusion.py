"""Fused scores equal the formula of reciprocal rank fusion (MCP-1)."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pml.discovery.fusion import fuse

score = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 3.0])
rankings = st.integers(0, 8).flatmap(
    lambda size: st.lists(st.lists(score, min_size=size, max_size=size), max_size=3)
)


@given(rankings, st.integers(0, 60), st.integers(1, 10))
def test_fused_scores_equal_the_formula(rankings: list[list[float]], k: int, depth: int) -> None:
    fused = fuse([np.array(scores) for scores in rankings], k=k, depth=depth)
    check(fused, rankings, [1.0] * len(rankings), k, depth)


@given(rankings, st.data())
def test_weighted_fused_scores_equal_the_formula(
    rankings: list[list[float]], data: st.DataObject
) -> None:
    weights = [data.draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in rankings]
    check(fuse([np.array(one) for one in rankings], weights, k=5), rankings, weights, 5, 500)


@given(rankings, st.data())
def test_an_entry_that_a_ranking_could_not_name_gets_the_presumed_share_of_its_first_rank(
    rankings: list[list[float]], data: st.DataObject
) -> None:
    weights = [data.draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in rankings]
    shares = st.sampled_from([0.0, 0.25, 1.0])
    presumed = [
        data.draw(st.none() | st.lists(shares, min_size=len(one), max_size=len(one)))
        for one in rankings
    ]
    given_shares = [None if shares is None else np.array(shares) for shares in presumed]
    fused = fuse([np.array(one) for one in rankings], weights, given_shares)
    check(fused, rankings, weights, 5, 500, presumed)


def check(  # noqa: PLR0917  # as `fuse` takes them
    fused: NDArray[np.float64],
    rankings: list[list[float]],
    weights: list[float],
    k: int,
    depth: int,
    presumed: list[list[float] | None] | None = None,
) -> None:
    voting = [place for place, scores in enumerate(rankings) if any(scores)]
    best = sum(weights[place] for place in voting)
    for entry, score in enumerate(fused.tolist()):
        ranks = {
            place: 1 + sum(other > rankings[place][entry] for other in rankings[place])
            for place in voting
            if rankings[place][entry] > 0
        }
        gained = sum(
            weights[place] * (k + 1) / (k + rank) for place, rank in ranks.items() if rank <= depth
        )
        for place in voting:
            shares = presumed[place] if presumed else None
            if shares is not None and place not in ranks:
                gained += weights[place] * shares[entry]
        np.testing.assert_allclose(score, gained / best if best else 0)
        assert 0 <= score <= 1 + 1e-12
