"""From a training through the model file to what serves: the scores are those of the model."""

import numpy as np
import pytest
import torch

from pml.learning.shgat_training import train
from pml.learning.trained import Trained
from pml.learning.training_config import TrainingConfig
from pml.models.exported import ExportedShgat
from pml.models.inputs import RankingTask
from pml.models.model_file import Expected, from_bytes, to_bytes
from pml.models.scorer import Scorer
from tests.learning.catalogues import CONFIG, Catalogue
from tests.models.exports import asked, scores

CATALOGUE = Catalogue(tools=6, intents=40)


@pytest.fixture(scope="module")
def trained() -> Trained:
    config = TrainingConfig(epochs=3, batch=16)
    return train(CATALOGUE.folds(folds=3), CATALOGUE.view, CONFIG, config)


@pytest.fixture(scope="module")
def file(trained: Trained) -> bytes:
    return to_bytes(
        ExportedShgat(
            config=trained.model.config,
            parameters=trained.parameters,
            graph=trained.graph,
            trained=trained.trained,
            encoder="drawn",
            data_hash="0" * 64,
            seed=0,
            pml_version="0.1.0",
            gate=trained.gate,
            metrics=trained.figures,
        )
    )


@pytest.mark.parametrize("task", list(RankingTask))
def test_what_was_trained_is_what_serves(trained: Trained, file: bytes, task: RankingTask) -> None:
    view = CATALOGUE.view
    model = from_bytes(file, expected=Expected(encoder="drawn", graph=view.graph.identity))
    scorer = Scorer(model, view.graph, view.inputs)
    examples = [one for one in CATALOGUE.examples if one.task is task][:8]
    queries = CATALOGUE.queries(task, examples)
    with torch.no_grad():
        twin = trained.model
        tensors = twin.query_tensors(task, view.graph, queries)
        raw = twin.scores(task, twin.states(twin.view(view.graph, view.inputs)), tensors)
        chances = twin.probabilities(task, raw).numpy()
    for place in range(len(examples)):
        found = scores(scorer, task, asked(scorer, queries, place))
        np.testing.assert_allclose(found.raw, raw[place], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found.probabilities, chances[place], atol=1e-5)


def test_the_verdict_of_the_gate_and_the_figures_travel_with_it(
    trained: Trained, file: bytes
) -> None:
    model = from_bytes(file)
    assert model.gate == trained.gate
    assert model.metrics == trained.figures
