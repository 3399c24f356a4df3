"""The log partition beside scipy's (LE-5)."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from jaxtyping import Float
from scipy.special import logsumexp

from pml.models.log_partition import log_partition


@given(
    st.sampled_from([np.float32, np.float64]).flatmap(
        lambda kind: arrays(
            kind,
            array_shapes(min_dims=1, max_dims=2),
            elements=st.floats(-(2.0**99), 2.0**99, width=32),
        )
    )
)
def test_it_is_that_of_scipy_however_large_the_scores(scores: Float[np.ndarray, "..."]) -> None:
    found = log_partition(scores)
    assert found.dtype == scores.dtype
    expected = logsumexp(scores.astype(np.float64), axis=-1)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-5)


def test_without_candidates_it_is_zero() -> None:
    assert log_partition(np.zeros((2, 0), np.float32)).tolist() == [0, 0]
