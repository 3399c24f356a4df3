"""Learn the weights of the field matcher: sealtools and toollinkos, training splits only.

An example is an input of a consumer beside a provider: gold if the set says that the provider
gives it.  Which output it is, no set says, so the best one by the weights so far is taken and
the weights are learned again, until they stay (multiple-instance learning by alternation:
Andrews, Tsochantaridis & Hofmann, NIPS 2002).
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl  # type: ignore[import-not-found,unused-ignore]
import sets
from numpy.typing import NDArray

from pml.analysis import fields
from pml.analysis.fields.extract import Field, Signature, signature
from pml.analysis.fields.features import FEATURES, comparable, features
from pml.analysis.fields.match import described
from pml.analysis.fields.names import tokens

Bag = tuple[NDArray[np.float64], int]
"""Features of every comparable output, shape ``(outputs, features)``, and whether it is gold."""
ROUNDS = 6
STEPS = 60
"""Newton's method needs fewer."""
PRIOR = {
    "types_differ": -2.0,
    "enum_shared": 1.0,
    "enum_apart": -2.0,
    "echo_made": -1.5,
}
"""What weights are drawn towards; zero for the others.

By hand, for features of which the sets say nothing: there are no enumerations on both sides, no
objects beside texts, and hardly any tool that makes something and answers what it was given.
"""
START = {"exact": 1.0, "head": 1.0, "input_covered": 3.0, "output_covered": 1.0, "rarity": 0.5}
"""By which the first round takes the best output."""
PENALTY = 10.0
"""Of the squared distance to `PRIOR`, where each set counts as 200 examples; of those tried
(1, 10, 33) the one with the best mean F1 on the two training splits."""
LEAST = 25
"""Tools that have a word, for the background to list it."""
BACKGROUND = ("sealtools", "toolbench", "mcp_tools", "bfcl_multiturn", "toollinkos")


def bags(found: sets.Set, pairs: sets.Pairs) -> list[Bag]:
    """One for each input that has a comparable output."""
    known = {tool_id: signature(tool) for tool_id, tool in found.tools.items()}
    collected: list[Bag] = []
    for gold, group in ((1, sorted(pairs.gold)), (0, sorted(pairs.other))):
        for provider, consumer in group:
            named = pairs.fields.get((provider, consumer), frozenset()) if gold else frozenset()
            collected += of_pair(known[provider], known[consumer], gold, named)
    return collected


def of_pair(
    provider: Signature, consumer: Signature, gold: int, named: Iterable[str]
) -> Iterable[Bag]:
    """Of a gold pair whose fields are not named, all inputs count as gold."""
    wanted = set(named)
    for taken in consumer.inputs:
        rows = rows_of(provider.outputs, taken)
        if len(rows):
            yield rows, int(gold and (not wanted or taken.path in wanted))


def rows_of(outputs: Sequence[Field], taken: Field) -> NDArray[np.float64]:
    """Features of the outputs that are comparable to an input."""
    return np.array(
        [
            features(o.shape, taken.shape, described(o.description, taken.description))
            for o in outputs
            if comparable(o.shape, taken.shape)
        ]
    )


def weighed(by_name: Mapping[str, float], names: Sequence[str] = FEATURES) -> NDArray[np.float64]:
    """Weights in the order of the features."""
    return np.array([by_name.get(name, 0.0) for name in names])


def learn(
    groups: Sequence[Sequence[Bag]], *, names: Sequence[str] = FEATURES
) -> NDArray[np.float64]:
    """Weights; every group counts the same, and so do gold and other examples within it.

    Args:
        groups: examples by set.
        names: of the features.
    """
    weights = weighed(START, names)
    for _ in range(ROUNDS):
        rows, labels, shares = [], [], []
        for group in groups:
            golds = max(1, sum(label for _, label in group))
            others = max(1, len(group) - golds)
            for candidates, label in group:
                rows.append(candidates[int(np.argmax(candidates @ weights))])
                labels.append(label)
                shares.append(100 / (golds if label else others))
        weights = fitted(np.array(rows), np.array(labels), np.array(shares), names)
    return weights


def fitted(
    rows: NDArray[np.float64],
    labels: NDArray[np.int64],
    shares: NDArray[np.float64],
    names: Sequence[str],
) -> NDArray[np.float64]:
    """Logistic regression by Newton's method, drawn towards `PRIOR`; the bias is free."""
    aim = weighed(PRIOR, names)
    strength = np.full(len(aim), PENALTY)
    strength[list(names).index("bias")] = 1e-3
    weights = aim.copy()
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (shares * (chance - labels)) + strength * (weights - aim)
        bend = (rows * (shares * chance * (1 - chance))[:, None]).T @ rows + np.diag(strength)
        weights = weights - np.linalg.solve(bend, slope)
    return np.asarray(weights)


def background(folder: Path) -> dict[str, object]:
    """In the fields of how many tools each word stands, over the sets whose licence allows it."""
    counts: Counter[str] = Counter()
    tools = 0
    for name in BACKGROUND:
        for row in pl.read_parquet(folder / name / "tools.parquet").to_dicts():
            tool = sets.tool(row)
            schemas = (tool.input_schema, tool.output_schema or {})
            names = [n for schema in schemas for n in schema.get("properties") or ()]
            counts.update({word for n in names for word in tokens(n)})
            tools += bool(names)
    listed = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {
        "TOOLS": tools,
        "LEAST": LEAST,
        "COUNTS": {word: count for word, count in listed if count >= LEAST},
    }


TRAINED = ("sealtools", "toollinkos")


def threshold(weights: NDArray[np.float64], known: Sequence[tuple[sets.Set, sets.Pairs]]) -> float:
    """The score with the best F2 on training pairs, as the mean of the sets' shares of theirs.

    Recall counts double: what a match is good for is ranked or has an order besides, which sorts
    wrong ones out, and nothing finds what was missed.
    """
    curves = []
    grid = np.linspace(-2, 2, 161)
    for found, pairs in known:
        scores, labels = pair_logits(weights, found, pairs)
        curve = np.array([f_beta(labels, scores >= cut, beta=2) for cut in grid])
        curves.append(curve / curve.max())
    mean = np.mean(curves, axis=0)
    lowest = float(grid[np.flatnonzero(mean >= (1 - NEAR) * mean.max())[0]])
    return 1 / (1 + float(np.exp(-lowest)))


NEAR = 0.01
"""Share of the best F2 that is no difference: of thresholds that near, the lowest is taken."""


def pair_logits(
    weights: NDArray[np.float64], found: sets.Set, pairs: sets.Pairs
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The best logit of any output with any input, and whether the pair is gold."""
    known = {tool_id: signature(tool) for tool_id, tool in found.tools.items()}
    asked = [*sorted(pairs.gold), *sorted(pairs.other)]
    scores = []
    for provider, consumer in asked:
        rows = [rows_of(known[provider].outputs, taken) for taken in known[consumer].inputs]
        scores.append(max((float((r @ weights).max()) for r in rows if len(r)), default=-np.inf))
    return np.array(scores), np.array([pair in pairs.gold for pair in asked])


def f_beta(labels: NDArray[np.bool_], answers: NDArray[np.bool_], *, beta: float) -> float:
    """Weighted harmonic mean of precision and recall, which counts ``beta`` squared times."""
    missed = int((labels & ~answers).sum())
    wrong = int((answers & ~labels).sum())
    right = (1 + beta**2) * int((labels & answers).sum())
    return float(right / max(1.0, right + beta**2 * missed + wrong))


def main() -> None:
    """Write `background.json`, then, with it in place, `weights.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    parser.add_argument("--only", choices=("background", "weights"), required=True)
    chosen = parser.parse_args()
    if chosen.only == "background":
        written("background", background(chosen.data))
        return
    found = [sets.read(chosen.data, name) for name in TRAINED]
    training = [(one, one.splits["train"]) for one in found]
    weights = learn([bags(one, pairs) for one, pairs in training])
    rounded = {n: round(float(w), 3) for n, w in zip(FEATURES, weights, strict=True)}
    cut = round(threshold(weighed(rounded), training), 3)
    written("weights", {"THRESHOLD": cut, "WEIGHTS": rounded})


CARDS = {
    "background": f"In the fields of how many tools a word stands.\n\nCounted in {BACKGROUND}.",
    "weights": f"What the field matcher learned.\n\nFrom the training splits of {TRAINED} only.",
}


def written(name: str, constants: Mapping[str, object]) -> None:
    """A module of constants, in the package that reads them."""
    target = Path(fields.__file__).parent / f"{name}.py"
    lines = [
        f'"""{CARDS[name]}\nMade by experiments/001-provides-edges/train.py; do not edit.\n"""\n'
    ]
    lines += [f"{key} = {value!r}" for key, value in constants.items()]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {target}; now run `ruff format` on it")


if __name__ == "__main__":
    main()
