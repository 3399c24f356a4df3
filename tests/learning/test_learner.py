"""Steps of training (LE-3, LE-5): live traces move the parameters, failures make less likely."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from pml.learning.examples import Example, examples_of_trace
from pml.learning.learner import Learner, rate_at
from pml.learning.prepared import PreparedFold
from pml.learning.replay import Batch
from pml.learning.training_config import Draws, TrainingConfig
from pml.models.inputs import RankingTask
from pml.models.shgat import Shgat
from pml.models.start import Start
from pml.models.trained_ids import TrainedIds
from tests.learning.catalogues import CONFIG, Catalogue
from tests.learning.test_examples import a_run

CATALOGUE = Catalogue()
SMALL_STEPS = TrainingConfig(
    epochs=4, batch=16, learning_rate=1e-3, scalar_rate=1.0, id_dropout=0.0
)


def a_model() -> Shgat:
    model = Shgat(
        CONFIG,
        TrainedIds.of(CATALOGUE.view.graph),
        generator=torch.Generator().manual_seed(0),
        start=Start(scale=1.0),
    )
    model.standardise_by(CATALOGUE.view.inputs)
    return model


def live_examples() -> list[Example]:
    """Of traces as runs write them: two calls each, some of which failed."""
    traces = [
        a_run(
            (f"t{at % 12}", "good"),
            (f"t{(at + 1) % 12}", "bad" if at % 5 == 0 else "good"),
            success=at % 5 != 0,
            trace_id=f"trace-{at}",
            intent_text=f"please do {at}",
            capability_id=f"c{at % 12}",
        )
        for at in range(40)
    ]
    return [example for trace in traces for example in examples_of_trace(trace)]


def chances(model: Shgat, task: RankingTask, asked: list[Example]) -> Float[Tensor, "asked nodes"]:
    fold = PreparedFold(model, CATALOGUE.fold((), asked))
    queries = fold.tasks[task].queries.take(np.arange(len(asked)))
    with torch.no_grad():
        return fold.scores(model, task, model.states(fold.view), queries).softmax(dim=1)


def test_live_traces_move_every_parameter() -> None:
    """The gradient of a peer's model was 0 on traces as they come."""
    model = a_model()
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    learner = Learner(model, [CATALOGUE.fold((), live_examples())], SMALL_STEPS)
    for _ in range(3):  # gates open in the first step, what is behind them learns in the next
        learner.run()
    still = [name for name, value in model.named_parameters() if torch.equal(value, before[name])]
    assert still == []


@pytest.mark.parametrize("task", list(RankingTask))
def test_training_on_a_failure_makes_that_choice_less_likely(task: RankingTask) -> None:
    """Nobody knows what would have served: there are no positives at all."""
    failed = "c3" if task is RankingTask.CAPABILITIES else "t3"
    prefix = ("t1",) if task is RankingTask.NEXT_TOOL else ()
    examples = [
        Example(
            task=task,
            source=f"trace-{at}",
            intent=f"please do {3 + 12 * at}",
            failed=(failed,),
            prefix=prefix,
        )
        for at in range(16)
    ]
    model = a_model()
    asked = [replace(examples[0], intent="please do 999")]  # of the same topic, never trained on
    before = chances(model, task, asked)
    learner = Learner(model, [CATALOGUE.fold((), examples)], SMALL_STEPS)
    for _ in range(4):
        learner.run()
    after = chances(model, task, asked)
    assert after[0, 3] < 0.95 * before[0, 3]
    others = torch.arange(12) != 3
    assert torch.all(after[0, others] > 0.9 * before[0, others])


def test_a_failure_beside_what_served_is_less_likely_than_without_it() -> None:
    served = Example(
        task=RankingTask.TOOLS, source="trace", intent="please do 3", positives=("t4",)
    )
    failing = replace(served, failed=("t3",))
    models = [a_model(), a_model()]
    for model, example in zip(models, (served, failing), strict=True):
        learner = Learner(model, [CATALOGUE.fold((), [example])], SMALL_STEPS)
        for _ in range(4):
            learner.run()
    without, beside = (chances(model, RankingTask.TOOLS, [served]) for model in models)
    assert beside[0, 3] < without[0, 3]


def test_a_lighter_example_moves_the_model_less() -> None:
    """With a step in proportion to the gradient, as a clipped or adaptive one hides it."""
    example = Example(
        task=RankingTask.TOOLS, source="trace", intent="please do 3", positives=("t4",)
    )
    gradients = []
    for weight in (1.0, 0.25):
        model = a_model()
        config = replace(SMALL_STEPS, clip=1e9, weight_decay=0.0)
        fold = CATALOGUE.fold((), [replace(example, weight=weight)])
        Learner(model, [fold], config).run()
        gradient = model.query["tools"].weight.grad
        assert gradient is not None
        gradients.append(gradient.norm().item())
    assert gradients[1] == pytest.approx(0.25 * gradients[0], rel=1e-4)


def gradient_norm(config: TrainingConfig) -> float:
    """Of all parameters, as the last step of a pass over one trace of two tasks took it."""
    model = a_model()
    Learner(model, [CATALOGUE.fold((), CATALOGUE.examples[:2])], config).run()
    gradients = [one.grad.norm() for one in model.parameters() if one.grad is not None]
    return float(torch.stack(gradients).norm())


def test_a_step_is_clipped_to_the_norm_asked_for() -> None:
    free = gradient_norm(replace(SMALL_STEPS, clip=1e9))
    assert free > 1e-2
    assert gradient_norm(replace(SMALL_STEPS, clip=1e-3)) == pytest.approx(1e-3, rel=1e-3)


def test_the_loss_of_a_task_counts_as_much_as_asked() -> None:
    one = ((RankingTask.CAPABILITIES, 0.0),)
    light = (*one, (RankingTask.TOOLS, 0.25))
    alone, lighter = (
        gradient_norm(replace(SMALL_STEPS, clip=1e9, task_weights=weights))
        for weights in (one, light)
    )
    assert lighter == pytest.approx(0.25 * alone, rel=1e-4)


def test_each_draw_of_a_trace_brings_its_own_importance_weight() -> None:
    fold = PreparedFold(a_model(), CATALOGUE.fold((), CATALOGUE.examples))
    drawn = Batch(
        keys=["trace-7", "trace-2", "trace-7"],
        probabilities=np.full(3, 0.1),
        weights=np.array([0.5, 1.0, 0.25]),
    )
    rows, weights = fold.rows(RankingTask.TOOLS, drawn)
    np.testing.assert_array_equal(rows, [7, 2, 7])
    np.testing.assert_array_equal(weights, np.array([0.5, 1.0, 0.25], np.float32))


def test_what_a_step_finds_predicted_well_is_drawn_less_often() -> None:
    """A trace of forty examples is known to be all wrong, from a time when it was."""
    others = [one for one in CATALOGUE.examples if one.task is RankingTask.TOOLS][:24]
    failing = replace(others[0], source="known", positives=(), failed=("t4",))
    known = {one.source: 0.0 for one in others} | {"known": 1.0}
    config = replace(SMALL_STEPS, batch=5, epochs=12, draws=Draws.PRIORITISED)
    fold = CATALOGUE.fold((), [*others, *[failing] * 40])
    learner = Learner(a_model(), [fold], config, known_errors=known)
    seen = [learner.run().examples for _ in range(12)]  # 25 draws each, of 1 or 40 examples
    assert np.mean(seen[1:]) < 25 + 4 * 39  # ten draws of 25 are its own, if it stays at 1


def test_a_dropped_id_embedding_learns_nothing() -> None:
    for dropout, learns in ((0.0, True), (0.9999, False)):
        model = a_model()
        config = replace(SMALL_STEPS, id_dropout=dropout)
        Learner(model, [CATALOGUE.fold((), CATALOGUE.examples)], config).run()
        assert bool(model.id_embedding.weight.detach().any()) == learns


def test_training_that_diverges_says_so_and_what_to_do() -> None:
    model = a_model()
    learner = Learner(model, [CATALOGUE.fold((), CATALOGUE.examples)], SMALL_STEPS)
    with torch.no_grad():
        model.query["tools"].weight.fill_(torch.inf)
    with pytest.raises(ValueError, match=r"diverged: the loss of step 1 is .*lower learning_rate"):
        learner.run()


def test_errors_fall_as_traces_are_learned() -> None:
    config = replace(SMALL_STEPS, learning_rate=2e-2, epochs=10)
    learner = Learner(a_model(), [CATALOGUE.fold((), CATALOGUE.examples)], config)
    learner.run()
    first = np.mean(list(learner.errors.values()))
    for _ in range(9):
        learner.run()
    assert set(learner.errors) == {f"trace-{at}" for at in range(CATALOGUE.intents)}
    assert np.mean(list(learner.errors.values())) < 0.7 * first


def test_sampled_candidates_teach_as_all_do() -> None:
    """Half of the tools in each step, and still what is learned ranks all of them."""
    config = replace(
        SMALL_STEPS, learning_rate=2e-2, epochs=10, sampled_candidates=3, hard_candidates=1
    )
    model = a_model()
    learner = Learner(model, [CATALOGUE.fold((), CATALOGUE.examples)], config)
    for _ in range(10):
        learner.run()
    asked = [one for one in CATALOGUE.examples if one.task is RankingTask.CAPABILITIES][:24]
    best = chances(model, RankingTask.CAPABILITIES, asked).argmax(dim=1)
    hits = [f"c{at}" in one.positives for at, one in zip(best.tolist(), asked, strict=True)]
    assert np.mean(hits) > 0.8


def test_the_learning_rate_rises_then_falls() -> None:
    rates = [rate_at(step, 100, warm_up=0.1) for step in range(100)]
    assert np.argmax(rates) in (9, 10)
    assert rates[0] == pytest.approx(0.1)
    assert np.all(np.diff(rates[:10]) > 0)
    assert np.all(np.diff(rates[10:]) < 0)
    assert 0.01 < rates[-1] < 0.02


def test_what_is_no_matrix_learns_as_much_faster_as_asked() -> None:
    """The first step of AdamW is as large as the rate, whatever the gradient."""
    model = a_model()
    config = replace(SMALL_STEPS, scalar_rate=10.0, warm_up=0.0, weight_decay=0.0)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    Learner(model, [CATALOGUE.fold((), CATALOGUE.examples[:3])], config).run()
    moved = {
        name: (value - before[name]).abs().max().item() for name, value in model.named_parameters()
    }
    assert moved["query.tools.weight"] == pytest.approx(1e-3, rel=0.01)
    assert moved["evidence.tools.base"] == pytest.approx(1e-2, rel=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"learning_rate": 0.0},
        {"scalar_rate": -1.0},
        {"id_dropout": 1.0},
        {"failures": -1.0},
        {"task_weights": ((RankingTask.TOOLS, -1.0),)},
    ],
)
def test_a_configuration_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"out of range: {next(iter(wrong))}"):
        TrainingConfig(**wrong)
