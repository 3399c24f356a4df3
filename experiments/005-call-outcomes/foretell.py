"""How well context foretells which calls fail: cross-validated choices, then the held-out half.

Run:  .venv/bin/python experiments/005-call-outcomes/foretell.py --data FOLDER [--test]
"""

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int64
from scipy.sparse import csr_matrix
from scipy.stats import rankdata
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LogisticRegression

from pml.evaluation.dataset import Call, Dataset
from pml.evaluation.loading import load
from pml.evaluation.methods.thompson import Facts, Thompson, shuffled, with_history
from pml.evaluation.questions import OutcomesQuestion
from pml.features.arguments import argument_pattern
from pml.learning.call_context import CallContext, features
from pml.learning.probit import ProbitModel

SETS = ("toolbench", "sgd")
FOLDS = 4
DRAWS = 1_000
TARGETS = {"toolbench": 0.78, "sgd": 0.92}

Answers = Float64[np.ndarray, " cases"]
Method = Callable[[OutcomesQuestion], Answers]


def halves(dataset: Dataset) -> tuple[list[str], list[str]]:
    """Episodes to train and to test, as the floors split them."""
    ids = sorted({call.episode_id for call in dataset.calls if call.ok is not None})
    random.Random(0).shuffle(ids)  # noqa: S311  # the split that the floors made
    return ids[: len(ids) // 2], ids[len(ids) // 2 :]


def asked(
    dataset: Dataset, train: Sequence[str], test: Sequence[str]
) -> tuple[OutcomesQuestion, Answers, Int64[np.ndarray, " cases"]]:
    """The question, whether each call failed, and the number of its episode."""
    told, hidden = set(train), {episode: number for number, episode in enumerate(test)}
    cases = [
        (call, before)
        for call, before in with_history([c for c in dataset.calls if c.episode_id in hidden])
        if call.ok is not None
    ]
    question = OutcomesQuestion(
        tools=dataset.tools,
        train=tuple(call for call in dataset.calls if call.episode_id in told),
        calls=tuple(replace(call, ok=None, result=None) for call, _ in cases),
        before=tuple(tuple(before) for _, before in cases),
    )
    failed = np.array([not call.ok for call, _ in cases], dtype=np.float64)
    return question, failed, np.array([hidden[call.episode_id] for call, _ in cases])


def floor(question: OutcomesQuestion) -> Answers:
    """Per tool Beta(4 p0, 4 (1 - p0)), as floors.md has it."""
    known = [call for call in question.train if call.ok is not None]
    calls = Counter(call.tool_id for call in known)
    failures = Counter(call.tool_id for call in known if not call.ok)
    prior = 4 * failures.total() / calls.total()
    return np.array(
        [(failures[c.tool_id] + prior) / (calls[c.tool_id] + 4) for c in question.calls]
    )


def with_context(
    *without: str,
    of: Callable[[CallContext], tuple[str, ...]] = features,
    in_order: bool = False,
) -> Method:
    """The delivered method without groups of features, or with other features."""

    def answers(question: OutcomesQuestion) -> Answers:
        facts, model = Facts(question.tools), ProbitModel()

        def kept(call: Call, before: Sequence[Call]) -> list[str]:
            names = of(facts.context(call, before))
            return [name for name in names if name.partition(":")[0] not in without]

        calls = list(question.train) if in_order else shuffled(question.train)
        for call, before in with_history(calls):
            if call.ok is not None:
                model.learn(kept(call, before), success=call.ok)
        cases = zip(question.calls, question.before, strict=True)
        return 1 - np.array([model.chance(kept(*case)) for case in cases])

    return answers


def with_arguments(context: CallContext) -> tuple[str, ...]:
    """The features and the names of arguments and the kinds of their values (SP-7)."""
    return tuple(dict.fromkeys((*features(context), *_argument_names(context))))


def _argument_names(context: CallContext) -> Iterator[str]:
    yield f"arguments:{'' if context.arguments is None else min(len(context.arguments), 3)}"
    for value in argument_pattern(context.arguments).values:
        yield f"argument:{value.name}"
        yield f"kind:{value.name}:{value.pattern.kind}"


def batch(question: OutcomesQuestion) -> Answers:
    """The same features in a logistic regression that is fitted to all training calls at once."""
    facts = Facts(question.tools)
    told = [(c, before) for c, before in with_history(question.train) if c.ok is not None]
    cases = list(zip(question.calls, question.before, strict=True))
    hasher = FeatureHasher(2**18, input_type="string", alternate_sign=False)

    def rows(calls: Sequence[tuple[Call, Sequence[Call]]]) -> csr_matrix:
        return hasher.transform(list(features(facts.context(*case))) for case in calls)

    model = LogisticRegression(C=1.0, solver="liblinear")
    model.fit(rows(told), [not call.ok for call, _ in told])
    chances: Answers = model.predict_proba(rows(cases))[:, 1]
    return chances


METHODS: dict[str, Method] = {
    "per-tool Beta (floor)": floor,
    "thompson": Thompson().answers,
    "thompson with context": with_context(),
}
RUN = ("same", "tool-same", "neighbour", "foreign", "failures", "again", "previous")
VARIANTS: dict[str, Method] = {
    "without the run": with_context(*RUN),
    "without same tool": with_context("same", "tool-same", "again"),
    "without tool x same tool": with_context("tool-same"),
    "without same arguments again": with_context("again"),
    "without neighbours, others, failures": with_context("neighbour", "foreign", "failures"),
    "without previous tool": with_context("previous"),
    "without words": with_context("word"),
    "without server": with_context("server"),
    "without tool": with_context("tool", "tool-same"),
    "with argument names and kinds": with_context(of=with_arguments),
    "episodes in the order of their ids": with_context(in_order=True),
    "batch logistic regression": batch,
}


def area(chances: Answers, failed: Answers) -> float:
    """Area under the ROC curve."""
    positives = failed.sum()
    negatives = len(failed) - positives
    ranks = rankdata(chances)[failed == 1].sum()
    return float((ranks - positives * (positives + 1) / 2) / (positives * negatives))


def brier(chances: Answers, failed: Answers) -> float:
    """Mean squared error of the chance."""
    return float(np.mean((chances - failed) ** 2))


def calibration_error(chances: Answers, failed: Answers) -> float:
    """Mean distance of chance and rate in ten equally filled bins."""
    bins = np.array_split(np.argsort(chances, kind="stable"), 10)
    distances = [abs(chances[b].mean() - failed[b].mean()) * len(b) for b in bins]
    return float(sum(distances) / len(chances))


MEASURES = {"AUC": area, "Brier": brier, "ECE": calibration_error}


def cross_validated(dataset: Dataset) -> None:
    """A row per method and variant; means over folds of the training half."""
    train, _ = halves(dataset)
    folds = [
        asked(
            dataset,
            [e for n, e in enumerate(train) if n % FOLDS != fold],
            [e for n, e in enumerate(train) if n % FOLDS == fold],
        )
        for fold in range(FOLDS)
    ]
    for name, method in (METHODS | VARIANTS).items():
        answers = [(method(question), failed) for question, failed, _ in folds]
        row = [np.mean([measure(*one) for one in answers]) for measure in MEASURES.values()]
        print(f"| {dataset.name} | {name} | " + " | ".join(f"{v:.4f}" for v in row) + " |")


def held_out(dataset: Dataset) -> None:
    """A row per method on the test half, with 95 % intervals; episodes are drawn."""
    question, failed, episodes = asked(dataset, *halves(dataset))
    answers = {name: method(question) for name, method in METHODS.items()}
    draws = list(_resamples(episodes))
    reference = answers["per-tool Beta (floor)"]
    for name, chances in answers.items():
        cells = []
        for measure in MEASURES.values():
            values = [measure(chances[draw], failed[draw]) for draw in draws]
            base = [measure(reference[draw], failed[draw]) for draw in draws]
            low, high = np.quantile(values, [0.025, 0.975])
            less, more = np.quantile(np.subtract(values, base), [0.025, 0.975])
            own = measure(chances, failed)
            cells.append(f"{own:.3f} ({low:.3f} to {high:.3f}; {less:+.3f} to {more:+.3f})")
        print(f"| {dataset.name} | {name} | " + " | ".join(cells) + " |")


def _resamples(groups: Int64[np.ndarray, " cases"]) -> Iterator[Int64[np.ndarray, " resample"]]:
    rng = np.random.default_rng(0)
    order = np.argsort(groups, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    for _ in range(DRAWS):
        yield np.concatenate([members[i] for i in rng.integers(len(members), size=len(members))])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--test", action="store_true", help="the held-out half; look rarely")
    options = parser.parse_args()
    print(f"| set | method | {' | '.join(MEASURES)} |\n|---|---|---|---|---|")
    for name in SETS:
        dataset = load(options.data / name).dataset
        if options.test:
            held_out(dataset)
        else:
            cross_validated(dataset)


if __name__ == "__main__":
    main()
