"""Products in blocks are products (LE-5)."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pml.models.passes import product


@given(rows=st.integers(0, 70), out=st.sampled_from([1, 6, 128, 600]), seed=st.integers(0, 99))
def test_a_product_in_blocks_is_the_product(rows: int, out: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(rows, 128)).astype(np.float32)
    weight = rng.normal(size=(out, 128)).astype(np.float32)
    found = product(states, weight)
    assert found.shape == (rows, out)
    np.testing.assert_allclose(found, states.astype(np.float64) @ weight.T, rtol=1e-4, atol=1e-4)
