"""Intents from a grammar of verbs, objects and qualifiers, and other ways to say them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

VERBS = ("count", "archive", "rename", "translate", "publish", "compare", "export", "validate")
OBJECTS = ("invoice", "photo", "contract", "ticket", "recipe", "branch", "playlist", "sensor")
PLACES = ("berlin", "the shared drive", "the warehouse", "the inbox", "the staging server")
TIMES = ("yesterday", "last month", "the summer holidays", "monday morning", "the audit")


@dataclass(frozen=True, slots=True)
class Wish:
    verb: str
    thing: str
    place: str
    time: str

    @property
    def intent(self) -> str:
        return f"{self.verb} every {self.thing} of {self.time} in {self.place}"

    @property
    def name(self) -> str:
        return f"{self.verb}_{self.thing}_{self.place.split()[-1]}_{self.time.split()[-1]}"

    def same_words(self) -> Iterator[str]:
        """Other orders, inflections and common words: nothing is added, nothing is missing."""
        yield f"In {self.place}, {self.verb} every {self.thing} of {self.time}!"
        yield f"Could you please {self.verb} every {self.thing}s of {self.time}, in {self.place}"

    def paraphrases(self) -> Iterator[str]:
        yield from self.same_words()
        yield f"{self.place}: {self.thing}s of {self.time} are to be {_ing(self.verb)}"
        yield f"I urgently want somebody to {self.verb} {self.thing}s ({self.time}, {self.place})"
        yield f"{self.verb} the {self.thing}s in {self.place}, {self.time.split()[-1]}"


def wishes(seed: int, count: int) -> list[Wish]:
    """Different ones, of which many share three of their four parts."""
    every = [
        Wish(verb, thing, place, time)
        for verb in VERBS
        for thing in OBJECTS
        for place in PLACES
        for time in TIMES
    ]
    return random.Random(seed).sample(every, count)


def _ing(verb: str) -> str:
    return f"{verb.removesuffix('e')}ing"
