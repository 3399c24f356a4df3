"""Does any feature of the graph help to rank tools, beside text and beside what came before?

Each feature is added to a baseline's score with a weight that is chosen on a tenth of the
training workflows, with features and baseline made of the other nine tenths; then all of training
makes both, and the test split is ranked once.  See README.md for the verdict.

Run:  .venv/bin/python experiments/008-graph-features/graph_features.py --data FOLDER
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pml.domain.trace import DependencyType, ToolDependency
from pml.evaluation.cases import groups
from pml.evaluation.dataset import Tool, Workflow
from pml.evaluation.loading import load
from pml.evaluation.measured import Mean, Measured
from pml.evaluation.methods.tools_bm25 import Bm25
from pml.evaluation.methods.tools_bm25_knn import Bm25AndKnn
from pml.evaluation.next_parts import ORDER, NextParts, ranked
from pml.evaluation.questions import NextQuestion, Point, ToolsQuestion
from pml.evaluation.ranking import measured
from pml.evaluation.retrieval import relative
from pml.evaluation.tasks.next import TASK as NEXT
from pml.evaluation.tasks.tools import TASK as TOOLS
from pml.features.activity import Activity, CallSeen, RunSeen
from pml.features.graph import feature_graph, index_of
from pml.features.heat import heat
from pml.features.matrix import feature_matrices
from pml.features.members import Members
from pml.features.structure import structure_of
from pml.features.walks import activity_walk

Array = NDArray[np.float64]
WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
STATIC = ("pagerank", "adamic_adar", "frequency", "association", "community_inside")
TUNING = 10
"""One training workflow in so many chooses the weight."""
MOST_TUNING = 400
RESAMPLES = 2_000


class Known:
    """Features made of sequences of tools."""

    def __init__(self, tools: Sequence[str], sequences: Sequence[Sequence[str]]) -> None:
        rng = np.random.default_rng(1)
        links = Counter((a, b) for one in sequences for a, b in pairwise(one) if a != b)
        edges = [
            ToolDependency(
                source=a,
                target=b,
                type=DependencyType.SEQUENCE,
                edge_source="observed",
                weight=float(np.log1p(count)),
            )
            for (a, b), count in links.items()
        ]
        sets = dict.fromkeys(tuple(sorted(set(one))) for one in sequences)
        members = [Members(id=f"c{number}", tools=one) for number, one in enumerate(sets)]
        self.graph = feature_graph(tools, members, edges)
        self.activity = Activity()
        for one in sequences:
            calls = tuple(CallSeen(tool=tool) for tool in one)
            self.activity.add(RunSeen(at_ms=0, calls=calls))
        structure = structure_of(self.graph, rng)
        self.matrix, _ = feature_matrices(structure, self.activity, 0)
        self.walk = activity_walk(self.graph)
        self.row = index_of(self.graph.tools)
        self.count = len(tools)

    def static(self, name: str) -> Array:
        """A column of the matrix."""
        return self.matrix.column(name)[: self.count].astype(np.float64)

    def heat(self, sources: Array) -> Array:
        """Where it spreads from scores of tools, relative to the hottest."""
        start = np.zeros(len(self.walk.leak))
        start[: len(sources)] = sources
        found = heat(self.walk, start, tolerance=1e-4)[: self.count]
        return np.asarray(found / max(found.max(), 1e-12))

    def community(self, row: int) -> Array:
        """1 for the other tools of its community."""
        same = self.matrix.groups == self.matrix.groups[row]
        same[row] = False
        return np.asarray(same[: self.count].astype(np.float64))

    def company(self, row: int) -> Array:
        """NPMI with it where they were together, else 0."""
        found, one = np.zeros(self.count), self.graph.tools[row]
        for other in self.activity.together.partners(one):
            if self.row[other] < self.count:
                found[self.row[other]] = self.activity.together.npmi(one, other)
        return found


def by_query(known: Known, base: Array) -> dict[str, Array]:
    """Features per case and tool, from a baseline's scores relative to the best."""
    best = base.argmax(axis=1)
    found = {name: np.broadcast_to(known.static(name), base.shape) for name in STATIC}
    found["heat of the ranking"] = np.array([known.heat(np.maximum(row, 0) ** 4) for row in base])
    found["community of the first"] = np.array([known.community(row) for row in best.tolist()])
    found["company of the first"] = np.array([known.company(row) for row in best.tolist()])
    return found


def by_prefix(known: Known, tools: Sequence[str], points: Sequence[Point]) -> dict[str, Array]:
    """Features per point and tool, from what was called so far."""
    order = [known.row[tool] for tool in tools]
    rows = [[known.row[tool] for tool in point.prefix if tool in known.row] for point in points]
    shape = (len(points), len(tools))
    found = {name: np.broadcast_to(known.static(name)[order], shape) for name in STATIC}
    nothing = np.zeros(known.count)

    def each(of: Callable[[list[int]], Array]) -> Array:
        return np.array([(of(one) if one else nothing)[order] for one in rows])

    def same(one: list[int]) -> Array:
        return np.bincount(one[-1:], minlength=known.count).astype(np.float64)

    def warm(one: list[int]) -> Array:
        return known.heat(np.bincount(one, minlength=known.count).astype(np.float64))

    found["control: the last again"] = each(same)
    found["heat of the prefix"] = each(warm)
    found["community of the last"] = each(lambda one: known.community(one[-1]))
    found["company of the prefix"] = each(
        lambda one: np.mean([known.company(row) for row in dict.fromkeys(one)], axis=0)
    )
    return found


def parted(items: Sequence[Workflow]) -> tuple[list[Workflow], list[Workflow]]:
    """Nine tenths to learn from, one to choose weights on."""
    order = np.random.default_rng(0).permutation(len(items)).tolist()
    cut = min(len(items) // TUNING, MOST_TUNING)
    return [items[at] for at in order[cut:]], [items[at] for at in order[:cut]]


def mean_of(found: Measured, metric: str) -> float:
    """Of a metric over cases."""
    values = found.metrics[metric]
    assert isinstance(values, Mean)
    return float(np.nanmean(values.values))


def interval(better: Measured, base: Measured, metric: str) -> tuple[float, float, float]:
    """Mean difference and its 95 % interval, groups of cases drawn together."""
    one, other = better.metrics[metric], base.metrics[metric]
    assert isinstance(one, Mean)
    assert isinstance(other, Mean)
    _, group = np.unique(base.groups, return_inverse=True)
    sums = np.bincount(group, one.values - other.values)
    sizes = np.bincount(group)
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(sums), size=(RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(sums.sum() / sizes.sum()), float(low), float(high)


def chosen(judge: Callable[[Array], Measured], base: Array, feature: Array, metric: str) -> float:
    """The weight with the best score; of equals the smallest."""

    def score(weight: float) -> tuple[float, float]:
        return round(mean_of(judge(base + weight * feature), metric), 6), -weight

    return max(WEIGHTS, key=score)


def compared(
    label: str,
    tuning: tuple[Array, dict[str, Array], Callable[[Array], Measured]],
    test: tuple[Array, dict[str, Array], Callable[[Array], Measured]],
    metric: str,
) -> list[dict[str, object]]:
    """A row per feature."""
    base, features, judge = test
    plain = judge(base)
    rows: list[dict[str, object]] = []
    for name, feature in features.items():
        tune_base, tune_features, tune_judge = tuning
        weight = chosen(tune_judge, tune_base, tune_features[name], metric)
        gain, low, high = interval(judge(base + weight * feature), plain, metric)
        row = {
            "problem": label,
            "feature": name,
            "base": mean_of(plain, metric),
            "weight": weight,
            "gain": gain,
            "low": low,
            "high": high,
        }
        rows.append({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()})
        print(rows[-1], flush=True)
    return rows


def of_tools(folder: Path, method: Bm25 | Bm25AndKnn) -> list[dict[str, object]]:
    """Intent to tools."""
    dataset = load(folder).dataset
    (problem,) = TOOLS.problems(dataset)
    fit, tune = parted(problem.question.train)
    ids = [tool.id for tool in dataset.tools]

    def made(train: Sequence[Workflow], intents: Sequence[str]) -> tuple[Array, dict[str, Array]]:
        known = Known(ids, [[n for n in one.nodes if n in set(ids)] for one in train])
        question = ToolsQuestion(tools=dataset.tools, train=tuple(train), intents=tuple(intents))
        scores = method.answers(question)
        assert scores is not None
        base = relative(scores).astype(np.float64)
        return base, by_query(known, base)

    place = index_of(ids)
    gold = [{place[node] for node in one.nodes if node in place} for one in tune]

    def tune_judge(scores: Array) -> Measured:
        return measured(scores.astype(np.float32), gold, groups(tune), candidates=len(ids))

    tuning = (*made(fit, [one.intent for one in tune]), tune_judge)
    test = made(problem.question.train, problem.question.intents)
    label = f"{dataset.name}, tools, {method.name}"
    return compared(
        label, tuning, (*test, lambda s: problem.judge(s.astype(np.float32))), TOOLS.headline
    )


def of_next(folder: Path) -> list[dict[str, object]]:
    """Next tool, beside PPM."""
    dataset = load(folder).dataset
    rows: list[dict[str, object]] = []
    for problem in NEXT.problems(dataset):
        asked = problem.question
        order = np.random.default_rng(0).permutation(len(asked.train)).tolist()
        cut = min(len(order) // TUNING, MOST_TUNING)
        fit, tune = ([asked.train[at] for at in part] for part in (order[cut:], order[:cut]))
        points = [(one[:at], one[at]) for one in tune for at in range(1, len(one))]
        tune_question = NextQuestion(
            tools=asked.tools,
            train=tuple(fit),
            points=tuple(Point(prefix=tuple(prefix), intent="") for prefix, _ in points),
        )
        base, features, tools = next_made(asked.tools, tune_question)
        right = np.array([tools.index(answer) for _, answer in points])

        def tune_judge(scores: Array, right: Array = right) -> Measured:
            own = scores[np.arange(len(right)), right]
            places = 1 + (scores > own[:, None]).sum(axis=1)
            values = (1.0 / places).astype(np.float64)
            return Measured(metrics={"MRR": Mean(values=values)}, groups=np.arange(len(right)))

        test_base, test_features, test_tools = next_made(asked.tools, asked)

        def judge(scores: Array, tools: Sequence[str] = test_tools) -> Measured:
            return problem.judge([ranked(tools, row) for row in scores])  # noqa: B023

        label = f"{dataset.name}, next, ppm{ORDER} {problem.label}"
        rows += compared(
            label, (base, features, tune_judge), (test_base, test_features, judge), "MRR"
        )
    return rows


def next_made(
    tools: Sequence[Tool], question: NextQuestion
) -> tuple[Array, dict[str, Array], tuple[str, ...]]:
    """Chances by PPM, and features; columns are the tools that are also returned."""
    parts = NextParts(question)
    base = np.array([parts.chances(point.prefix, order=ORDER) for point in question.points])
    known_ids = {tool.id for tool in tools}
    sequences = [[n for n in one if n in known_ids] for one in question.train]
    known = Known([tool.id for tool in tools], sequences)
    return base, by_prefix(known, parts.tools, question.points), parts.tools


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    rows: list[dict[str, object]] = []
    for name in ("ultratool", "toollens"):
        for method in (Bm25(), Bm25AndKnn()):
            rows += of_tools(data / name, method)
    for name in ("ultratool", "sgd"):
        rows += of_next(data / name)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
