"""Precision, recall and F1 of `provides` edges on five sets, beside the exact-name rule.

Run:  .venv/bin/python experiments/001-provides-edges/study.py --data FOLDER   (needs polars and
scikit-learn: `pml[research]`).  Prints the tables of README.md; nothing is written.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import sets
import train
from measures import (
    COLUMNS,
    Asked,
    Lsa,
    Matrix,
    asked,
    best_cut,
    logits,
    quality,
)

from pml.analysis.fields import weights as shipped
from pml.analysis.fields.extract import signature
from pml.analysis.fields.features import FEATURES
from pml.analysis.fields.index import ProvidesIndex

NAMES = ("sgd", "sealtools", "toollinkos", "n8n", "ultratool")
FOLDS = 5
GROUPS: Mapping[str, tuple[str, ...]] = {
    "names": ("bias", "exact", "head", "head_family", "heads", "input_covered", "output_covered",
        "attribute"),
    "+ rarity": ("rarity", "head_rarity", "aside"),
    "+ types, enums": (
        "types_differ", "text_and_number", "one_of_many", "enum_shared", "enum_apart", "choice",
        "switch", "control",
    ),
    "+ nouns of the tools": ("context", "nouns", "main", "identity", "from_name"),
    "+ what the provider does": (
        "echo", "echo_made", "source", "makes", "changes", "sends", "computes", "no_verb",
        "from_description",
    ),
    "+ descriptions": ("described",),
    "+ LSA of the descriptions": ("lsa",),
}  # fmt: skip
"""The ablation: each row has the features of those above it."""


SHIPPED_CUT = float(np.log(shipped.THRESHOLD / (1 - shipped.THRESHOLD)))


Data = Mapping[str, tuple[sets.Set, Mapping[str, Asked]]]
"""By set: the set, and its pairs by ``train``, ``all`` and ``unseen``."""


def exact_rule(one: sets.Set) -> Callable[[sets.Pair], bool]:
    """Any field name in common, as in the floors; without output schemas the nearest there is.

    For toollinkos that is: what follows the first word of the provider's name is an input's name.
    """
    given, taken = known_fields(one)
    if one.name == "toollinkos":
        given = {key: sets.plain(sets.named([key.partition("_")[2]])) for key in one.tools}
    return lambda pair: not given[pair[0]].isdisjoint(taken[pair[1]])


def apart(one: sets.Set) -> sets.Pairs:
    """Pairs of dev and test that the training split does not have."""
    seen, every = one.splits["train"], one.splits["all"]
    known = seen.gold | seen.other
    return sets.Pairs(every.gold - known, every.other - known, every.fields)


def widened(by_name: Mapping[str, float]) -> Matrix:
    """Weights in the order of `COLUMNS`."""
    return np.array([by_name.get(name, 0.0) for name in COLUMNS])


def bags(found: Asked, pairs: sets.Pairs, kept: Matrix) -> list[train.Bag]:
    """Examples for `train.learn`, with only the features that are kept (1, else 0)."""
    examples = []
    for pair, gold, inputs in zip(found.pairs, found.gold, found.inputs, strict=True):
        wanted = pairs.fields.get(pair, frozenset()) if gold else frozenset()
        for name, rows, _ in inputs:
            examples.append((rows * kept, int(gold and (not wanted or name in wanted))))
    return examples


def edges(data: Data) -> None:
    """The main table."""
    ship, cut = widened(shipped.WEIGHTS), SHIPPED_CUT
    print("\n## Edges\n\n| set | pairs | method | precision | recall | F1 (95 %) | to exact |")
    print("|---|---|---|---|---|---|---|")
    for name, (one, splits) in data.items():
        own = own_weights(one, splits["train"])
        cuts = {
            "ours, as shipped": (ship, cut),
            "ours, threshold of its training split": (ship, tuned(splits["train"], ship)),
            "ours, weights of its training split too": (own, tuned(splits["train"], own)),
        }
        for split in ("all", "unseen"):
            found = splits[split]
            rule = exact_rule(one)
            plain = quality(found.gold, np.array([rule(pair) for pair in found.pairs]))
            label = f"{name} | {split}: {found.gold.sum()} of {len(found.pairs)}"
            everything = np.ones(len(found.gold), bool)
            print(f"| {label} | all pairs | {quality(found.gold, everything)} | |")
            print(f"| {label} | exact | {plain} | 1 |")
            for method, (weights, least) in cuts.items():
                ours = quality(found.gold, logits(found, weights) >= least)
                ratio = f"{ours.f1 / plain.f1:.2f}" if plain.f1 else "exact finds none"
                print(f"| {label} | {method} | {ours} | {ratio} |")


def tuned(found: Asked, weights: Matrix) -> float:
    """The threshold that its training split wants."""
    return best_cut(found, logits(found, weights))


def own_weights(one: sets.Set, found: Asked) -> Matrix:
    """Learned on the training split of the set itself."""
    kept = np.array([name in FEATURES for name in COLUMNS], float)
    learned: Matrix = train.learn([bags(found, one.splits["train"], kept)], names=COLUMNS) * kept
    return learned


def ablation(data: Data) -> None:
    """F1 on unseen pairs as features come, weights and thresholds of each row's own training."""
    print("\n## Ablation: F1 on unseen pairs\n\n| features | " + " | ".join(data) + " |")
    print("|---|" + "---|" * len(data))
    columns: tuple[str, ...] = ()
    for label, more in GROUPS.items():
        columns += more
        kept = np.array([name in columns for name in COLUMNS], float)
        groups = [
            bags(data[n][1]["train"], data[n][0].splits["train"], kept) for n in train.TRAINED
        ]
        weights = train.learn(groups, names=COLUMNS) * kept
        cells = []
        for _, splits in data.values():
            least = tuned(splits["train"], weights)
            answers = logits(splits["unseen"], weights) >= least
            cells.append(train.f_beta(splits["unseen"].gold, answers, beta=1))
        print(f"| {label} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")


def field_mappings(data: Data) -> None:
    """Of the gold pairs whose fields are named: which of them are found."""
    ship, cut = widened(shipped.WEIGHTS), SHIPPED_CUT
    print("\n## Fields of gold pairs\n\n| set | fields | method | precision | recall | F1 |")
    print("|---|---|---|---|---|---|")
    for name, (one, splits) in data.items():
        fields = one.splits["all"].fields
        if not fields:
            continue
        found = splits["all"]
        given, taken = known_fields(one)
        if name == "toollinkos":
            given = {key: sets.plain(sets.named([key.partition("_")[2]])) for key in one.tools}
        gold, ours, plain = set(), set(), set()
        for pair, inputs in zip(found.pairs, found.inputs, strict=True):
            if not fields.get(pair):
                continue
            gold |= {(pair, short(field)) for field in fields[pair]}
            plain |= {(pair, field) for field in given[pair[0]] & taken[pair[1]]}
            ours |= {(pair, short(n)) for n, rows, _ in inputs if (rows @ ship).max() >= cut}
        for method, answers in (("exact", plain), ("ours, as shipped", ours)):
            right = len(gold & answers)
            shares = right / max(1, len(answers)), right / max(1, len(gold))
            f1 = 2 * right / max(1, len(answers) + len(gold))
            figures = f"{shares[0]:.3f} | {shares[1]:.3f} | {f1:.3f}"
            print(f"| {name} | {len(gold)} | {method} | {figures} |")


def short(name: str) -> str:
    """As `sets.plain` spells names."""
    return next(iter(sets.plain(sets.named([name]))))


def ceilings(one: sets.Set, training: Asked, found: Asked, ordered: set[sets.Pair]) -> None:
    """Of sgd: what a rule that knows no order cannot have, and what rules do where it is given."""
    print("\n## sgd: the order of calls\n\n| pairs | method | precision | recall | F1 (95 %) |")
    print("|---|---|---|---|---|")
    gold = {pair for pair, yes in zip(found.pairs, found.gold, strict=True) if yes}
    ran = np.array([pair in ordered for pair in found.pairs])

    def directionless(pair: sets.Pair) -> bool:
        same = one.tools[pair[0]].server == one.tools[pair[1]].server
        return pair in gold or (not same and pair[::-1] in gold)

    blind = np.array([directionless(pair) for pair in found.pairs])
    ship = logits(found, widened(shipped.WEIGHTS))
    least = tuned(training, widened(shipped.WEIGHTS))
    rule = exact_rule(one)
    plain = np.array([rule(pair) for pair in found.pairs])
    print(f"| all | who ran first, nothing else | {quality(found.gold, ran)} |")
    print(f"| all | gold in both directions between services | {quality(found.gold, blind)} |")
    for label, answers in (
        ("all pairs", np.ones(len(ran), bool)),
        ("exact", plain),
        ("ours, as shipped", ship >= SHIPPED_CUT),
        ("ours, threshold of its training split", ship >= least),
    ):
        print(f"| provider ran first | {label} | {quality(found.gold[ran], answers[ran])} |")


def rates(one: sets.Set, splits: Mapping[str, Asked]) -> None:
    """Of n8n: how much fields can say at all, and who gives and who takes without any of them."""
    print("\n## n8n: unseen pairs without fields\n")
    training, found = splits["train"], splits["unseen"]
    gives, takes = ({t for t, s in schemas.items() if s} for schemas in known_fields(one))
    golds = [pair for pair, yes in zip(found.pairs, found.gold, strict=True) if yes]
    reachable = sum(a in gives and b in takes for a, b in golds)
    print(f"Fields are known of both tools in {reachable} of {len(golds)} gold pairs.")
    before, scores = propensity(training, training), propensity(training, found)
    answers = scores >= best_cut(training, before)
    print(f"\nHow often each gives and takes in training: {quality(found.gold, answers)}")


def known_fields(one: sets.Set) -> tuple[Mapping[str, set[str]], Mapping[str, set[str]]]:
    """By tool: names that it gives, and names that it takes."""
    given = {key: sets.plain(tool.result_schema) for key, tool in one.tools.items()}
    taken = {key: sets.plain(tool.input_schema) for key, tool in one.tools.items()}
    return given, taken


SMOOTHING = 5.0
"""Pairs that a tool's rate is drawn to the mean with."""


def propensity(training: Asked, found: Asked) -> Matrix:
    """Sum of the logits of how often the first gives and the second takes in training pairs."""
    base = float(training.gold.mean())
    logit = np.zeros(len(found.pairs))
    for side in (0, 1):
        yes: dict[str, float] = {}
        count: dict[str, float] = {}
        for pair, gold in zip(training.pairs, training.gold, strict=True):
            yes[pair[side]] = yes.get(pair[side], 0.0) + float(gold)
            count[pair[side]] = count.get(pair[side], 0.0) + 1.0
        for number, pair in enumerate(found.pairs):
            tool = pair[side]
            share = yes.get(tool, 0.0) + SMOOTHING * base
            share /= count.get(tool, 0.0) + SMOOTHING
            logit[number] += np.log(share / (1 - share))
    return logit


def catalogue(data: Data) -> None:
    """How many of the edges between gold pairs the index of the whole set keeps."""
    print("\n## Catalogue\n\n| set | tools | edges | gold matched in pairs | of them kept |")
    print("|---|---|---|---|---|")
    ship, cut = widened(shipped.WEIGHTS), SHIPPED_CUT
    for name, (one, splits) in data.items():
        index = ProvidesIndex()
        for tool in one.tools.values():
            index.put(tool)
        kept = {(edge.provider, edge.consumer) for edge in index.edges()}
        found = splits["all"]
        matched = [
            (one.tools[a].id, one.tools[b].id)
            for (a, b), yes, best in zip(found.pairs, found.gold, logits(found, ship), strict=True)
            if yes and best >= cut
        ]
        share = sum(pair in kept for pair in matched) / max(1, len(matched))
        print(f"| {name} | {len(one.tools)} | {len(kept)} | {len(matched)} | {share:.3f} |")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    folder = parser.parse_args().data
    data = {}
    for name in NAMES:
        one = sets.read(folder, name)
        known = {key: signature(tool) for key, tool in one.tools.items()}
        lsa = Lsa(known)
        pairs = {"train": one.splits["train"], "all": one.splits["all"], "unseen": apart(one)}
        data[name] = (one, {k: asked(p, known, lsa) for k, p in pairs.items()})
    edges(data)
    field_mappings(data)
    ablation(data)
    one, splits = data["sgd"]
    ceilings(one, splits["train"], splits["all"], sets.ordered(folder, "sgd"))
    rates(*data["n8n"])
    catalogue(data)


if __name__ == "__main__":
    main()
