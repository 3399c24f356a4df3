"""Training, calibration and gate together (LE-3, LE-5) on small made-up catalogues."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
import torch

from pml.learning.examples import Example
from pml.learning.folds import TrainingFold, View
from pml.learning.shgat_training import refitted, train
from pml.learning.trained import Trained
from pml.learning.training_config import Draws, Epoch, TrainingConfig
from pml.models.config import parameter_shapes
from pml.models.hypergraph import hypergraph
from pml.models.inputs import RankingTask
from pml.models.start import Start
from tests.learning.catalogues import CONFIG, Catalogue

QUICK = TrainingConfig(epochs=8, batch=24, learning_rate=6e-2, scalar_rate=1.0)
START = Start(scale=1.0)


def trained(
    catalogue: Catalogue | None = None,
    config: TrainingConfig = QUICK,
    examples: Sequence[Example] | None = None,
) -> Trained:
    known = catalogue or Catalogue()
    return train(known.folds(examples), known.view, CONFIG, config, start=START)


def digest(found: Trained) -> str:
    """Of all bits that training gives."""
    hashed = sha256(repr((found.history, found.calibrations, found.verdicts)).encode())
    for name, values in sorted(found.parameters.items()):
        hashed.update(name.encode() + values.tobytes())
    return hashed.hexdigest()


@pytest.fixture(scope="module")
def found() -> Trained:
    return trained()


def test_training_learns_what_the_fallback_cannot_know(found: Trained) -> None:
    assert found.history[0].held_back_loss > found.history[found.best_epoch - 1].held_back_loss
    assert set(found.verdicts) == set(RankingTask)
    assert all(verdict.passes for verdict in found.verdicts.values())
    assert all(verdict.model > verdict.fallback + 0.1 for verdict in found.verdicts.values())


def test_the_best_epoch_by_the_stopping_fold_is_kept(found: Trained) -> None:
    losses = [epoch.held_back_loss for epoch in found.history]
    assert found.best_epoch == 1 + int(np.argmin(losses))
    assert len(losses) <= found.best_epoch + QUICK.patience


def test_parameters_are_named_and_shaped_as_exports_are(found: Trained) -> None:
    shapes = {name: values.shape for name, values in found.parameters.items()}
    assert shapes == parameter_shapes(CONFIG, trained_nodes=len(found.trained))
    assert all(np.isfinite(values).all() for values in found.parameters.values())
    for task, calibration in found.calibrations.items():
        np.testing.assert_allclose(
            found.parameters[f"calibration.{task}"], calibration.numbers, rtol=1e-6
        )


def test_seeds_reproduce_to_the_bit(found: Trained) -> None:
    assert digest(trained()) == digest(found)
    assert digest(trained(config=replace(QUICK, seed=1))) != digest(found)


def test_another_process_with_other_hashes_gives_the_same_bits(found: Trained) -> None:
    program = (
        "from tests.learning.test_shgat_training import digest, trained; print(digest(trained()))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert told.stdout.strip() == digest(found)


def test_a_catalogue_without_traces_falls_back() -> None:
    catalogue = Catalogue()
    nothing = train((), catalogue.view, CONFIG, QUICK)
    assert nothing.gate == {}
    assert nothing.best_epoch == 0


def test_answers_that_mean_nothing_do_not_pass() -> None:
    """Which intent has which answers is shuffled, so that nothing can be learned."""
    catalogue = Catalogue(told=0.0)
    examples = catalogue.examples
    order = np.random.default_rng(3).permutation(catalogue.intents)
    shuffled = [
        replace(example, intent=f"please do {order[at // len(RankingTask)]}")
        for at, example in enumerate(examples)
    ]
    found = trained(catalogue, examples=shuffled)
    assert not any(
        found.verdicts[task].passes for task in (RankingTask.TOOLS, RankingTask.CAPABILITIES)
    )


@pytest.mark.parametrize("failing", [0.0, 0.5, 1.0])
def test_failures_alone_or_a_task_without_examples_leave_the_fallback(failing: float) -> None:
    """Some or all examples of tools know failures only; nothing is known of capabilities."""
    catalogue = Catalogue(intents=60)
    rng = np.random.default_rng(4)
    examples = [
        replace(one, positives=(), failed=one.positives) if rng.random() < failing else one
        for one in catalogue.examples
        if one.task is RankingTask.TOOLS
    ]
    found = trained(catalogue, replace(QUICK, epochs=2), examples)
    assert all(np.isfinite(epoch.held_back_loss) for epoch in found.history)
    assert all(np.isfinite(values).all() for values in found.parameters.values())
    assert found.verdicts[RankingTask.CAPABILITIES].intents == 0
    assert not any(found.gate.values())  # of so few intents nothing is concluded


def test_a_view_without_capabilities_is_trained_on_what_it_has() -> None:
    catalogue = Catalogue(intents=60)
    bare = hypergraph(catalogue.tool_ids)

    def without(fold: TrainingFold) -> TrainingFold:
        tools = fold.tasks[RankingTask.TOOLS]
        return TrainingFold(view=no_capabilities(fold.view), tasks={RankingTask.TOOLS: tools})

    def no_capabilities(view: View) -> View:
        inputs = replace(
            view.inputs,
            vectors=view.inputs.vectors[: catalogue.tools],
            capability_features=view.inputs.capability_features[:0],
        )
        return View(graph=bare, inputs=inputs)

    folds = [without(fold) for fold in catalogue.folds()]
    found = train(folds, no_capabilities(catalogue.view), CONFIG, QUICK, start=START)
    assert set(found.verdicts) == {RankingTask.TOOLS}
    assert found.figures.keys() >= {"tools.ndcg", "tools.p", "tools.brier"}


def test_what_raises_in_the_callback_stops_the_training() -> None:
    told: list[Epoch] = []

    def pruned(epoch: Epoch) -> None:
        told.append(epoch)
        raise KeyboardInterrupt

    catalogue = Catalogue(intents=20)
    with pytest.raises(KeyboardInterrupt):
        train(catalogue.folds(), catalogue.view, CONFIG, QUICK, on_epoch=pruned)
    assert [epoch.number for epoch in told] == [1]
    assert not torch.are_deterministic_algorithms_enabled()


def test_errors_come_back_under_the_ids_of_their_traces() -> None:
    catalogue = Catalogue()
    config = replace(QUICK, draws=Draws.PRIORITISED)
    found = trained(catalogue, config)
    learned_from = catalogue.folds()[:-2]
    sources = {s for fold in learned_from for t in fold.tasks.values() for s in t.targets.sources}
    assert found.errors.keys() <= sources
    assert len(found.errors) > 0.9 * len(sources)  # draws are random
    assert all(0 <= error <= 1 for error in found.errors.values())
    assert any(verdict.passes for verdict in found.verdicts.values())


def test_refitting_learns_from_all_folds_for_as_long_as_was_best(found: Trained) -> None:
    again = trained(config=replace(QUICK, refit=True))
    assert again.history == found.history
    assert again.verdicts == found.verdicts
    assert digest(again) != digest(found)


def test_refitting_later_is_refitting_at_once(found: Trained) -> None:
    catalogue = Catalogue()
    later = refitted(found, catalogue.folds(), catalogue.view, QUICK, start=START)
    assert digest(later) == digest(trained(config=replace(QUICK, refit=True)))
