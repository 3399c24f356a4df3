"""What the study asks of each pair of tools, and how answers are judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sets
import train
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD  # type: ignore[import-not-found,unused-ignore]
from sklearn.feature_extraction.text import (  # type: ignore[import-not-found,unused-ignore]
    TfidfVectorizer,
)

from pml.analysis.fields.extract import Field, Signature
from pml.analysis.fields.features import FEATURES, comparable, features
from pml.analysis.fields.match import described
from pml.analysis.fields.names import tokens

DRAWS = 2_000
"""Of the bootstrap over pairs."""
LSA_DIMENSIONS = 100
COLUMNS = (*FEATURES, "lsa")
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """The pairs of a split with the features of their comparable fields."""

    pairs: Sequence[sets.Pair]
    gold: NDArray[np.bool_]
    inputs: Sequence[Sequence[tuple[str, Matrix, Sequence[str]]]]
    """Of each pair the inputs that have a comparable output: name, features, outputs."""


class Lsa:
    """Latent semantic analysis of the fields' names and descriptions (Deerwester et al. 1990)."""

    def __init__(self, known: Mapping[str, Signature]) -> None:
        texts = sorted({text(f) for one in known.values() for f in (*one.inputs, *one.outputs)})
        counts = TfidfVectorizer(analyzer=tokens, sublinear_tf=True).fit_transform(texts)
        size = min(LSA_DIMENSIONS, counts.shape[1] - 1)
        dense = TruncatedSVD(size, random_state=0).fit_transform(counts)
        dense /= np.linalg.norm(dense, axis=1, keepdims=True) + 1e-9
        self._vectors = dict(zip(texts, dense, strict=True))

    def __call__(self, one: Field, other: Field) -> float:
        """Cosine of two fields."""
        return float(self._vectors[text(one)] @ self._vectors[text(other)])


def text(field: Field) -> str:
    """What LSA reads of a field."""
    return f"{' '.join(field.shape.words)} {field.description}"


def asked(pairs: sets.Pairs, known: Mapping[str, Signature], lsa: Lsa) -> Asked:
    """Features of all pairs."""
    listed = [*sorted(pairs.gold), *sorted(pairs.other)]
    return Asked(
        listed,
        np.array([pair in pairs.gold for pair in listed]),
        [inputs_of(known[a].outputs, known[b].inputs, lsa) for a, b in listed],
    )


def inputs_of(
    outputs: Sequence[Field], inputs: Sequence[Field], lsa: Lsa
) -> list[tuple[str, Matrix, Sequence[str]]]:
    """Of one pair."""
    found: list[tuple[str, Matrix, Sequence[str]]] = []
    for taken in inputs:
        fitting = [output for output in outputs if comparable(output.shape, taken.shape)]
        if fitting:
            found.append((taken.path, rows_of(fitting, taken, lsa), [o.path for o in fitting]))
    return found


def rows_of(outputs: Sequence[Field], taken: Field, lsa: Lsa) -> Matrix:
    """One row per output, one column per name in `COLUMNS`."""
    return np.array(
        [
            (
                *features(o.shape, taken.shape, described(o.description, taken.description)),
                lsa(o, taken),
            )
            for o in outputs
        ]
    )


def logits(found: Asked, weights: Matrix) -> Matrix:
    """The best of any output with any input of each pair."""
    return np.array(
        [
            max((float((r @ weights).max()) for _, r, _ in one), default=-99.0)
            for one in found.inputs
        ]
    )


@dataclass(frozen=True, slots=True)
class Quality:
    """Of the answers to a split, F1 with the 95 % interval of a bootstrap over pairs."""

    precision: float
    recall: float
    f1: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"{self.precision:.3f} | {self.recall:.3f} | {self.f1:.3f} "
            f"({self.low:.3f} to {self.high:.3f})"
        )


def quality(gold: NDArray[np.bool_], answers: NDArray[np.bool_]) -> Quality:
    """Of yes and no for each pair."""
    right = gold & answers
    rng = np.random.default_rng(0)
    draws = rng.integers(len(gold), size=(DRAWS, len(gold)))
    sizes = gold[draws].sum(1) + answers[draws].sum(1)
    f1s = 2 * right[draws].sum(1) / np.maximum(1, sizes)
    low, high = np.quantile(f1s, [0.025, 0.975])
    return Quality(
        right.sum() / max(1, answers.sum()),
        right.sum() / max(1, gold.sum()),
        train.f_beta(gold, answers, beta=1),
        float(low),
        float(high),
    )


def best_cut(found: Asked, scores: Matrix) -> float:
    """The threshold with the best F1 on these pairs."""
    cuts = np.unique(np.quantile(scores[scores > -np.inf], np.linspace(0, 1, 400)))
    return float(max(cuts, key=lambda cut: train.f_beta(found.gold, scores >= cut, beta=1)))
