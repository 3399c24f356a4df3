"""Tools, capabilities and past intents of made-up words, for benchmarks of search.

Texts are drawn from 20,000 words whose frequencies follow Zipf's law, as those of real
descriptions do.
"""

import random
import time
from collections.abc import Callable, Sequence

from pml.discovery.entry import Entry
from pml.domain.capability import PastIntent
from pml.domain.discovery import Found

INTENTS_EACH = 3
VOCABULARY = 20_000
SERVERS = 200
NEW_SERVERS = 50
"""The last so many, which no capability uses."""
NEW_SERVERS = 50
"""The last so many, whose tools no capability uses."""
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


class Language:
    """Sentences of made-up words, the first of which are the most frequent."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311  # no secrets are made of it
        self.words = ["".join(self.rng.choices(SYLLABLES, k=4)) for _ in range(VOCABULARY)]
        self.ranks = [1 / (10 + rank) for rank in range(VOCABULARY)]

    def about(self, intent: str) -> str:
        """An intent in other words: another order, three words gone and two new ones."""
        words = self.rng.sample(intent.split(), k=7)
        return " ".join([*words, self.sentence(2)])

    def sentence(self, words: int) -> str:
        """So many words, each drawn by its frequency."""
        return " ".join(self.rng.choices(self.words, self.ranks, k=words))


def tool(language: Language, number: int) -> Entry:
    """With a description and parameter names of 30 words together."""
    server, name = f"server{number % SERVERS}", language.sentence(2).replace(" ", "_")
    return Entry(
        id=f"{server}:{name}_{number}",
        kind=Found.TOOL,
        name=f"{server}.{name}_{number}",
        text=language.sentence(30),
        servers=(server,),
    )


def known(tools: Sequence[Entry]) -> list[Entry]:
    """Those that capabilities use."""
    new = {f"server{number}" for number in range(SERVERS - NEW_SERVERS, SERVERS)}
    return [one for one in tools if new.isdisjoint(one.servers)]


def capability(language: Language, number: int, tools: Sequence[Entry]) -> Entry:
    """Of three of the tools, with past intents of 10 words."""
    key = f"cap_{number:05}"
    intents = [language.sentence(10) for _ in range(INTENTS_EACH)]
    used = language.rng.sample(tools, 3)
    return Entry(
        id=key,
        kind=Found.CAPABILITY,
        name=language.sentence(3).replace(" ", "_"),
        text=language.sentence(10),
        tools=tuple(one.id for one in used),
        servers=tuple(server for one in used for server in one.servers),
        intents=tuple(
            PastIntent(
                capability_id=key,
                intent=intent,
                success_count=1,
                failure_count=0,
                last_success=True,
                last_at_ms=0,
            )
            for intent in intents
        ),
    )


def times_ms(
    work: Callable[[int], object],
    times: int,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Of each call with its number."""
    taken = []
    for number in range(times):
        started = clock()
        work(number)
        taken.append((clock() - started) * 1000)
    return taken
