"""Fused scores equal the formula of reciprocal rank fusion (MCP-1)."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pml.discovery.fusion import fuse

score = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 3.0])
rankings = st.integers(0, 8).flatmap(
    lambda size: st.lists(st.lists(score, min_size=size, max_size=size), max_size=3)
)


@given(rankings, st.integers(0, 60), st.integers(1, 10))
def test_fused_scores_equal_the_formula(rankings: list[list[float]], k: int, depth: int) -> None:
    fused = fuse([np.array(scores) for scores in rankings], k=k, depth=depth)
    voting = [scores for scores in rankings if any(scores)]
    for entry in range(len(fused)):
        ranks = [
            1 + sum(other > scores[entry] for other in scores)
            for scores in voting
            if scores[entry] > 0
        ]
        expected = sum((k + 1) / (k + rank) for rank in ranks if rank <= depth)
        np.testing.assert_allclose(fused[entry], expected / max(len(voting), 1))
        assert 0 <= fused[entry] <= 1
