"""The field matcher: the chance that an output is what an input wants."""

from functools import lru_cache
from math import exp, sqrt

from pml.analysis.fields import weights
from pml.analysis.fields.extract import Field, Shape
from pml.analysis.fields.features import FEATURES, comparable, features, provider_features
from pml.analysis.fields.lexicon import PREPOSITIONS
from pml.analysis.fields.names import tokens
from pml.analysis.fields.rarity import rarity

THRESHOLD = weights.THRESHOLD
"""The least score of a match."""
_WEIGHTS = tuple(weights.WEIGHTS[name] for name in FEATURES)
_TOLD_CHARS = 200
"""Of a description: the rest tells of formats and defaults."""
_DESCRIBED = weights.WEIGHTS["described"]


@lru_cache(maxsize=1 << 16)
def shape_logit(output: Shape, taken: Shape) -> float | None:
    """All of a score's logit but what the descriptions say; None if not `comparable`."""
    if not comparable(output, taken):
        return None
    return sum(w * f for w, f in zip(_WEIGHTS, features(output, taken), strict=True))


def provider_logit(output: Shape) -> float:
    """What the provider's side alone adds to the logit of every match of an output."""
    given = provider_features(output)
    return sum(weights.WEIGHTS[name] * given[name] for name in sorted(given))


def score(output: Field, taken: Field) -> float:
    """From 0 to 1; 0 for fields that have no word in common that says anything."""
    logit = shape_logit(output.shape, taken.shape)
    if logit is None:
        return 0.0
    logit += _DESCRIBED * described(output.description, taken.description)
    return 1 / (1 + exp(-logit))


def described(first: str, second: str) -> float:
    """Cosine of two descriptions, words weighted by rarity; 0 if one is missing."""
    one, other = _bag(first), _bag(second)
    if not one or not other:
        return 0.0
    common = sum(rarity(word) ** 2 for word in one & other)
    return common / sqrt(_norm(first) * _norm(second))


@lru_cache(maxsize=65_536)
def _bag(text: str) -> frozenset[str]:
    return frozenset(tokens(text[:_TOLD_CHARS])) - PREPOSITIONS


@lru_cache(maxsize=65_536)
def _norm(text: str) -> float:
    return sum(rarity(word) ** 2 for word in _bag(text)) or 1.0
