"""What pairs of tools teach beyond their fields: a model of the pair, beside the exact-name rule.

Schemas do not say who runs first, nor what a node without a schema gives.  This model learns it
from the edges of training workflows: how often a tool (else its family) gives and takes, words
and verbs of both names, what was seen of this very pair, and the scores of the field matcher in
both directions.  None of it ships.

Run:  .venv/bin/python experiments/001-provides-edges/learned.py --data FOLDER
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import measures
import numpy as np
import sets
from numpy.typing import NDArray
from sklearn.ensemble import (  # type: ignore[import-not-found,unused-ignore]
    HistGradientBoostingClassifier,
)
from sklearn.feature_extraction import (  # type: ignore[import-not-found,unused-ignore]
    DictVectorizer,
)
from sklearn.linear_model import (  # type: ignore[import-not-found,unused-ignore]
    LogisticRegression,
)

from pml.analysis.fields.mapping import Side
from pml.analysis.fields.match import THRESHOLD, score
from pml.analysis.fields.names import Phrase, tokens

Rows = Sequence[Mapping[str, Any]]
NAMES = ("n8n", "sgd", "sealtools")
FOLDS = 3
MOST_COMPARED = 900
"""Outputs times inputs; nodes of n8n that give and take anything have hundreds of fields each."""
SMOOTHING = 5.0
FEATURES = {
    "fields": ("score", "mapped", "reverse_score", "reverse_mapped", "names", "reverse_names",
        "same_server"),
    "verbs, words": ("words", "verbs", "reverse_verbs"),
    "rates": ("gives", "takes", "reverse_gives", "reverse_takes", "families"),
    "memory": ("known", "yes", "count"),
}  # fmt: skip


class Rates:
    """Shares of gold by key, drawn to a given mean."""

    def __init__(self) -> None:
        self._yes: dict[Hashable, float] = defaultdict(float)
        self._all: dict[Hashable, float] = defaultdict(float)

    def add(self, key: Hashable, gold: bool) -> None:
        """One more pair."""
        self._yes[key] += gold
        self._all[key] += 1

    def __call__(self, key: Hashable, mean: float) -> float:
        """The share of a key."""
        whole = self._all.get(key, 0.0) + SMOOTHING
        return (self._yes.get(key, 0.0) + SMOOTHING * mean) / whole


class Evidence:
    """What some workflows teach of pairs of tools."""

    def __init__(self, one: sets.Set, rows: Rows) -> None:
        self._tools = sets.learned(rows, one.tools) if one.name == "n8n" else one.tools
        self._reader = one.reader
        self._given = {k: sets.plain(t.result_schema) for k, t in self._tools.items()}
        self._taken = {k: sets.plain(t.input_schema) for k, t in self._tools.items()}
        self._sides: dict[str, Side] = {}
        self._matched: dict[sets.Pair, tuple[float, int]] = {}
        self._seen: dict[sets.Pair, list[bool]] = defaultdict(list)
        self._rates: dict[str, Rates] = defaultdict(Rates)
        found = one.reader(rows, self._tools)
        self.known = found.gold | found.other
        self._base = len(found.gold) / len(self.known)
        self._count(found, rows, one.name)
        listed = sorted(self.known)
        self._bags = DictVectorizer()
        bags = self._bags.fit_transform([self._bag(*pair) for pair in listed])
        self._words = LogisticRegression(C=0.1, max_iter=60)
        self._words.fit(bags, [pair in found.gold for pair in listed])

    def _count(self, found: sets.Pairs, rows: Rows, name: str) -> None:
        for a, b in sorted(self.known):
            gold = (a, b) in found.gold
            for kind, key in self._keys(a, b):
                self._rates[kind].add(key, gold)
        for row in rows if name == "n8n" else ():
            one = self._reader([row], self._tools)
            for pair in one.gold | one.other:
                self._seen[pair].append(pair in one.gold)
        if name != "n8n":
            self._seen.update({pair: [pair in found.gold] for pair in self.known})

    def _keys(self, a: str, b: str) -> Iterator[tuple[str, Hashable]]:
        yield from (("give", a), ("take", b), ("gives", self._family(a)))
        yield from (("takes", self._family(b)), ("families", (self._family(a), self._family(b))))
        yield "verbs", self._verbs(a, b)

    def _family(self, key: str) -> str:
        return re.sub(r"_?\d+$", "", self._tools[key].server)

    def _verbs(self, a: str, b: str) -> tuple[str, str, bool]:
        first, second = ((tokens(self._tools[key].name) or ("",))[0] for key in (a, b))
        return first, second, self._tools[a].server == self._tools[b].server

    def _bag(self, a: str, b: str) -> dict[str, float]:
        one, other = self._tools[a], self._tools[b]
        verbs = f"{Phrase(one.name).verb} {Phrase(other.name).verb} {one.server == other.server}"
        found = {f"verbs {verbs}": 1.0, f"first {self._verbs(a, b)}": 1.0}
        found[f"families {self._family(a)} {self._family(b)}"] = 1.0
        for side, tool in (("gives", one), ("takes", other)):
            found |= {f"{side} {word}": 0.3 for word in tokens(tool.description)[:40]}
            found |= {f"{side} {word}": 1.0 for word in tokens(tool.name)}
            found[f"{side} of {tool.server}"] = 1.0
        return found

    def exact(self, a: str, b: str) -> bool:
        """The exact-name rule."""
        return not self._given[a].isdisjoint(self._taken[b])

    def table(self, pairs: Sequence[sets.Pair]) -> NDArray[np.float64]:
        """One row per pair, columns in the order of `FEATURES`."""
        bags = self._bags.transform([self._bag(*pair) for pair in pairs])
        words = self._words.decision_function(bags)
        rows = [self._features(*p, float(w)) for p, w in zip(pairs, words, strict=True)]
        return np.array([[row[name] for name in columns()] for row in rows])

    def _features(self, a: str, b: str, words: float) -> dict[str, float]:
        seen = self._seen.get((a, b), [])
        rates, base = self._rates, self._base
        shared = len(self._given[a] & self._taken[b])
        found: dict[str, float] = {"words": words, "names": shared, "known": (a, b) in self.known}
        found |= {"yes": sum(seen), "count": len(seen)}
        found["reverse_names"] = len(self._given[b] & self._taken[a])
        found["same_server"] = self._tools[a].server == self._tools[b].server
        found["score"], found["mapped"] = self._match(a, b)
        found["reverse_score"], found["reverse_mapped"] = self._match(b, a)
        found["verbs"] = rates["verbs"](self._verbs(a, b), base)
        found["reverse_verbs"] = rates["verbs"](self._verbs(b, a), base)
        found["families"] = rates["families"](
            (self._family(a), self._family(b)), 1 / (1 + np.exp(-words))
        )
        for label, one, other in (("", a, b), ("reverse_", b, a)):
            found[f"{label}gives"] = self._rate("give", one)
            found[f"{label}takes"] = self._rate("take", other)
        return found

    def _rate(self, side: str, key: str) -> float:
        mean = self._rates[f"{side}s"](self._family(key), self._base)
        return self._rates[side](key, mean)

    def _match(self, a: str, b: str) -> tuple[float, int]:
        """The matcher's best score, and how many inputs it maps."""
        if (a, b) not in self._matched:
            self._matched[a, b] = self._compared(self._side(a), self._side(b))
        return self._matched[a, b]

    def _side(self, key: str) -> Side:
        if key not in self._sides:
            self._sides[key] = Side(self._tools[key])
        return self._sides[key]

    @staticmethod
    def _compared(provider: Side, consumer: Side) -> tuple[float, int]:
        outputs = provider.signature.outputs
        if len(outputs) * len(consumer.signature.inputs) > MOST_COMPARED:
            return float("nan"), -1
        best = []
        for taken, wanted in consumer.consumes:
            numbers = {n for anchor in wanted for n in provider.by_anchor.get(anchor, ())}
            best.append(max((score(outputs[n], taken) for n in numbers), default=0.0))
        mapped = sum(each >= THRESHOLD for each in best)
        return max(best, default=0.0), mapped


def columns(kept: Sequence[str] = tuple(FEATURES)) -> list[str]:
    """Names of the features of some groups."""
    return [name for group in kept for name in FEATURES[group]]


def folds(one: sets.Set) -> Iterator[tuple[Rows, Rows]]:
    """Training workflows as those that teach and those to learn from.

    Of sgd by service, whose pairs all workflows repeat and whose test services are new.
    """
    rng = np.random.default_rng(0)
    rows = [one.rows["train"][number] for number in rng.permutation(len(one.rows["train"]))]
    servers = [str(s) for s in rng.permutation(sorted({t.server for t in one.tools.values()}))]
    for fold in range(FOLDS):
        if one.name == "sgd":
            away = set(servers[fold::FOLDS])
            held = [any(one.tools[n].server in away for n in row["nodes"]) for row in rows]
        else:
            held = [number % FOLDS == fold for number in range(len(rows))]
        yield (
            [row for row, out in zip(rows, held, strict=True) if not out],
            [row for row, out in zip(rows, held, strict=True) if out],
        )


Part = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]
"""Of pairs: the features, gold, whether the teaching workflows have it, the exact rule."""


def part(one: sets.Set, teaching: Rows, rows: Rows) -> Part:
    """The pairs of some workflows as others teach them."""
    evidence = Evidence(one, teaching)
    found = one.reader(rows, one.tools)
    pairs = sorted(found.gold | found.other)
    gold = np.array([pair in found.gold for pair in pairs])
    seen = np.array([pair in evidence.known for pair in pairs])
    exact = np.array([evidence.exact(*pair) for pair in pairs])
    return evidence.table(pairs), gold, seen, exact


def chance(train: Part, asked: NDArray[np.float64], kept: list[int]) -> NDArray[np.float64]:
    """Of gold, by boosted trees."""
    model = HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.05, max_leaf_nodes=8, l2_regularization=5, random_state=0
    )
    model.fit(train[0][:, kept], train[1])
    return np.asarray(model.predict_proba(asked[:, kept])[:, 1])


def joined(parts: Sequence[Part]) -> Part:
    """One after the other."""
    table, gold, seen, exact = (np.concatenate(each) for each in zip(*parts, strict=True))
    return table, gold, seen, exact


def report(name: str, parts: Sequence[Part], asked: Part) -> None:
    """The rows of a set: all pairs of dev and test, and those that training has not."""
    groups = {label: [label] for label in FEATURES}
    chosen = {**groups, "all but memory": list(FEATURES)[:-1], "all": list(FEATURES)}
    training = joined(parts)
    for label, kept in {"exact": [], **chosen}.items():
        at = [columns().index(each) for each in columns(kept)]
        if at:
            inside = [
                chance(joined([p for p in parts if p is not held]), held[0], at) for held in parts
            ]
            before, scores = np.concatenate(inside), chance(training, asked[0], at)
        for pairs in ("all", "unseen"):
            old, new = (
                np.ones(len(p[1]), bool) & ((pairs == "all") | ~p[2]) for p in (training, asked)
            )
            answers = asked[3][new]
            if at:
                answers = scores[new] >= cut(training[1][old], before[old])
            plain = measures.quality(asked[1][new], asked[3][new]).f1
            ours = measures.quality(asked[1][new], answers)
            of = f"{pairs}: {asked[1][new].sum()} of {new.sum()}"
            print(f"| {name} | {of} | {label} | {ours} | {ours.f1 / plain:.2f} |", flush=True)


def cut(gold: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """The score with the best F1."""
    order = np.argsort(-scores)
    right = np.cumsum(gold[order])
    f1s = 2 * right / (np.arange(1, len(gold) + 1) + gold.sum())
    return float(scores[order][int(np.argmax(f1s))])


def parameters(one: sets.Set) -> None:
    """Of n8n: the exact rule between fields given and the names of parameters that take them."""
    later = [*one.rows["dev"], *one.rows["test"]]
    tools = sets.learned(one.rows["train"], one.tools, parameters=True)
    seen, found = one.splits["train"], one.reader(later, one.tools)
    known = seen.gold | seen.other
    for label, past in (("all", frozenset()), ("unseen", known)):
        pairs = sorted((found.gold | found.other) - past)
        gold = np.array([pair in found.gold for pair in pairs])
        given = [sets.plain(tools[a].result_schema) for a, _ in pairs]
        taken = [sets.plain(tools[b].input_schema) for _, b in pairs]
        answers = np.array([not g.isdisjoint(t) for g, t in zip(given, taken, strict=True)])
        figures = measures.quality(gold, answers)
        print(f"| n8n | {label}: {gold.sum()} of {len(gold)} | exact, parameters | {figures} | |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    parser.add_argument("--sets", nargs="+", default=NAMES)
    chosen = parser.parse_args()
    print("| set | pairs | features | precision | recall | F1 (95 %) | to exact |")
    print("|---|---|---|---|---|---|---|")
    for name in chosen.sets:
        one = sets.read(chosen.data, name)
        if name == "n8n":
            parameters(one)
        parts = [part(one, teaching, held) for teaching, held in folds(one)]
        later = [*one.rows.get("dev", ()), *one.rows["test"]]
        report(name, parts, part(one, one.rows["train"], later))


if __name__ == "__main__":
    main()
