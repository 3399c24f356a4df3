"""Attention in dgl is attention in torch, forward and backward (LE-5)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from pml.errors import ConfigError
from pml.models.attention import Aggregation, Pairs, TorchAggregation
from pml.models.dgl_attention import DglAggregation
from pml.models.inputs import RankingTask
from pml.models.trained_ids import TrainedIds
from pml.models.wiring import aggregations_of, fastest_library, wiring
from tests.models.torch_models import model_of
from tests.models.worlds import DEEP, inputs_of, queries_of

RTOL = 1e-10
"""In double precision; the two differ in the order of sums alone."""


@st.composite
def pairs(draw: st.DrawFn) -> Pairs:
    """Sorted by target, each once, as those of a graph are; also none at all."""
    n_sources, n_targets = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    places = st.tuples(st.integers(0, n_targets - 1), st.integers(0, n_sources - 1))
    chosen = sorted(draw(st.sets(places, max_size=12)))
    both = torch.tensor(chosen, dtype=torch.int64).reshape(-1, 2)
    return Pairs(
        sources=both[:, 1].contiguous(),
        targets=both[:, 0].contiguous(),
        n_sources=n_sources,
        n_targets=n_targets,
    )


def aggregated(aggregate: Aggregation, pairs: Pairs, seed: int) -> list[Tensor]:
    """The result, then the gradients of values, queries and score."""
    gen = torch.Generator().manual_seed(seed)
    shapes = [(pairs.n_sources, 2, 3), (pairs.n_targets, 2, 3), (2, 3)]
    parts = [
        torch.randn(shape, generator=gen, dtype=torch.float64, requires_grad=True)
        for shape in shapes
    ]
    values, queries, score = parts
    result = aggregate(values, queries, score)
    weight = torch.randn(result.shape, generator=gen, dtype=torch.float64)
    return [result, *torch.autograd.grad((result * weight).sum(), parts)]


@settings(max_examples=50)
@given(pairs(), st.integers(0, 100))
def test_results_and_gradients_are_those_of_torch(pairs: Pairs, seed: int) -> None:
    found = aggregated(DglAggregation(pairs), pairs, seed)
    expected = aggregated(TorchAggregation(pairs), pairs, seed)
    torch.testing.assert_close(found, expected, rtol=RTOL, atol=RTOL)


@pytest.mark.parametrize("task", list(RankingTask))
def test_a_model_in_dgl_is_the_model_in_torch(task: RankingTask) -> None:
    graph, gradients, scores = DEEP.graph, [], []
    for library in ("torch", "dgl"):
        model = model_of(TrainedIds.of(graph), library=library)
        states = model.states(model.view(graph, inputs_of(graph)))
        asked = model.query_tensors(task, graph, queries_of(graph, task))
        scores.append(model.scores(task, states, asked))
        torch.autograd.backward(scores[-1].sum())
        gradients.append(
            {name: of.grad for name, of in model.named_parameters() if of.grad is not None}
        )
    torch.testing.assert_close(scores[1], scores[0], rtol=RTOL, atol=RTOL)
    assert "up.score" in gradients[0]
    torch.testing.assert_close(gradients[1], gradients[0], rtol=RTOL, atol=RTOL)


def test_without_dgl_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dgl", None)
    monkeypatch.delitem(sys.modules, "pml.models.dgl_attention")
    with pytest.raises(
        ConfigError, match=r"install pml\[research\] on Python 3.11, or choose torch"
    ):
        aggregations_of("dgl")


def test_dgl_is_for_the_cpu() -> None:
    with pytest.raises(ConfigError, match="dgl computes on the CPU, and the model is on cuda"):
        wiring(DEEP.graph, "dgl", torch.device("cuda"))


def test_newer_pythons_take_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fastest_library() == "dgl"
    monkeypatch.setattr(sys, "version_info", (3, 12, 0))
    assert fastest_library() == "torch"


def test_importing_dgl_says_nothing_and_writes_nothing(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import pml.models.dgl_attention"],
        env=environment,
        capture_output=True,
        check=True,
        timeout=100,
    )
    assert (done.stdout, done.stderr, list(tmp_path.iterdir())) == (b"", b"", [])
