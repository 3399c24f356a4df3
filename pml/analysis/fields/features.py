"""How alike an output and an input are, as numbers: what the learned weights are applied to."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from pml.analysis.fields.extract import Origin, Shape
from pml.analysis.fields.lexicon import CONTROL, FAMILY, GENERIC
from pml.analysis.fields.names import qualified
from pml.analysis.fields.rarity import rarity

FEATURES = (
    "bias",
    "exact",  # the names are one: after tokenising, or with the nouns around them
    "head",  # the input's head word is among the output's words
    "head_family",  # only a word of its family is
    "heads",  # both head words are one
    "attribute",  # the output is a common attribute of what is wanted: its status, its number
    "input_covered",  # share of the input's words found in the output or its context, by rarity
    "output_covered",  # share of the output's words found in the input or its context
    "rarity",  # of the words found, summed
    "head_rarity",
    "context",  # rarity of further nouns that both have in common
    "types_differ",
    "text_and_number",
    "one_of_many",  # the output is a list or lies in one, the input takes one
    "enum_shared",
    "enum_apart",
    "choice",  # the input takes one of few values, and the output is not known to be one of them
    "switch",  # the input is a boolean
    "control",  # the input says how, not what (`lexicon.CONTROL`)
    "echo",  # the provider takes the output itself as an input
    "echo_made",  # and does so to make or change something: whoever calls it knew the value
    "from_name",
    "from_description",
    "identity",
    "makes",  # the provider makes something
    "changes",  # changes or drops something
    "sends",  # sends something, or logs in
    "computes",
    "no_verb",
    "main",  # the name of the provider speaks of the output
    "aside",  # it does not, and the input's head word is a common one
    "source",  # the provider takes nothing
    "nouns",  # the tools' names speak of one thing (rarity of what)
    "described",  # cosine of the descriptions, words weighted by rarity
)
"""Names of the features, in the order of `features`."""
_GROUPS = {"make": "makes", "change": "changes", "drop": "changes", "send": "sends"}
_VERBS = {**_GROUPS, "login": "sends", "compute": "computes", "": "no_verb"}
_FOUND_IN_CONTEXT = 0.9
_FOUND_IN_FAMILY = 0.5
_LEAST = 0.05
"""Added to every rarity, so that names of nothing but common words have a size."""


@lru_cache(maxsize=262_144)
def head(words: tuple[str, ...]) -> str:
    """The word that says what the value is: ``number`` in ``number_of_seats``."""
    found = ""
    for word in words:
        if word in ("of", "for", "in", "at", "by") and found:
            break
        found = word
    return found


def family(word: str) -> str:
    """The word for all that often name the same value."""
    return FAMILY.get(word, word)


@lru_cache(maxsize=262_144)
def anchors(words: tuple[str, ...], context: tuple[str, ...]) -> frozenset[str]:
    """Families of the words that a partner must share one of; none for names that say nothing."""
    return frozenset(family(w) for w in qualified(words, context) if w not in GENERIC)


def comparable(output: Shape, taken: Shape) -> bool:
    """Whether the two may match at all: a word in common that says something, and the head."""
    if anchors(output.words, output.context).isdisjoint(anchors(taken.words, taken.context)):
        return False
    wanted = head(taken.words)
    return wanted in output.words or family(wanted) in _families(output.words)


def features(output: Shape, taken: Shape, described: float = 0.0) -> Sequence[float]:
    """One number per name in `FEATURES`, of a `comparable` pair.

    Args:
        output: of the provider.
        taken: the input of the consumer.
        described: how alike the descriptions are, from 0 to 1.
    """
    found = dict.fromkeys(FEATURES, 0.0)
    found["bias"] = 1.0
    found["described"] = described
    _names(found, output, taken)
    _values(found, output, taken)
    found.update(provider_features(output))
    found["control"] = float(any(word in CONTROL for word in taken.words))
    found["aside"] = (1 - found["main"]) * (1 - rarity(head(taken.words)))
    shared = (rarity(word) for word in output.context if word in taken.context)
    found["nouns"] = max(shared, default=0.0)
    return tuple(found.values())


@lru_cache(maxsize=65_536)
def provider_features(output: Shape) -> Mapping[str, float]:
    """The features that are the same for every input."""
    verb = _VERBS.get(output.verb)
    found = {
        "echo": float(output.echo),
        "echo_made": float(output.echo and verb in ("makes", "changes", "sends")),
        "from_name": float(output.origin is Origin.NAME),
        "from_description": float(output.origin is Origin.DESCRIPTION),
        "identity": float(output.origin is Origin.IDENTITY),
        "main": float(not set(output.words).isdisjoint(output.context)),
        "source": float(output.source),
    }
    return found if verb is None else {**found, verb: 1.0}


def _names(found: dict[str, float], output: Shape, taken: Shape) -> None:
    inner, outer = qualified(taken.words, taken.context), output.words
    wanted = head(taken.words)
    whole = qualified(outer, output.context)
    found["exact"] = float(taken.words == outer or inner == whole)
    found["head"] = float(wanted in outer)
    found["head_family"] = 1.0 - found["head"]
    found["heads"] = float(wanted == head(outer))
    found["attribute"] = float(head(outer) in GENERIC and head(outer) != wanted)
    found["head_rarity"] = rarity(wanted)
    found["input_covered"], found["rarity"] = _covered(inner, outer, output.context)
    found["output_covered"], _ = _covered(outer, taken.words, taken.context)
    shared = {*outer, *output.context} & {*taken.words, *taken.context} - {wanted}
    found["context"] = min(2.0, sum(map(rarity, shared)))


@lru_cache(maxsize=65_536)
def _families(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(family, words))


def _covered(
    words: tuple[str, ...], among: tuple[str, ...], context: tuple[str, ...]
) -> tuple[float, float]:
    """How much of the words is found, as a share and as rarity."""
    whole = part = mass = 0.0
    families = _families(among)
    for word in words:
        weight = rarity(word) + _LEAST
        whole += weight
        if word in among:
            share = 1.0
        elif word in context:
            share = _FOUND_IN_CONTEXT
        else:
            share = _FOUND_IN_FAMILY if family(word) in families else 0.0
        part += share * weight
        mass += share * rarity(word)
    return part / whole if whole else 0.0, mass


def _values(found: dict[str, float], output: Shape, taken: Shape) -> None:
    kinds = {output.type, taken.type}
    known = bool(output.type and taken.type)
    text_and_number = kinds == {"string", "number"}
    found["text_and_number"] = float(known and text_and_number)
    found["types_differ"] = float(known and len(kinds) > 1 and not text_and_number)
    found["one_of_many"] = float(output.many and not taken.many)
    if taken.enum and output.enum:
        shared = len(taken.enum & output.enum) / len(taken.enum | output.enum)
        found["enum_shared"], found["enum_apart"] = shared, float(shared == 0)
    found["choice"] = float(bool(taken.enum) and not output.enum)
    found["switch"] = float(taken.type == "boolean")
