"""Search: which tools and capabilities fit an intent, in one ranking.

Three retrievers look at the same entries, and `fusion` joins them: BM25 over what entries say
of themselves, the nearest past intents, which vote for the capability that they ran and for
its tools, and, where an encoder is at hand, dense vectors.  A retriever adds nothing for
what it does not name; only tools of servers that no past intent could have used are presumed to
have votes, by what they say of themselves.  Whoever gives an exact name gets that entry first.

Everything is kept incrementally and exactly: an index that was changed answers as one that
was built anew from what is there.
"""

import heapq
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pml.discovery.bm25 import Bm25
from pml.discovery.entry import Entry, document, names, to_encode
from pml.discovery.fusion import fuse
from pml.discovery.intents import Neighbour, PastIntents
from pml.discovery.names import Names
from pml.discovery.newness import Newness
from pml.discovery.tfidf import Frequencies
from pml.discovery.vectors import Vectors
from pml.discovery.weighing import presumed_votes, weight_of_votes
from pml.discovery.words import Tokenizer, Words, split
from pml.domain.capability import CAPABILITY_SERVER, PastIntent
from pml.domain.discovery import Found

Kind = Literal["tool", "capability", "all"]
LEAST_ALONE = 0.35
"""Cosine of vectors below which an entry is not named where no word and no past intent names any:
a word that nobody knows is about that much like anything, and has to be told from what fits."""
_CODES = {Found.TOOL: 1, Found.CAPABILITY: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An entry in the ranking."""

    id: str
    kind: Found
    score: float
    """Share of the best possible fused rank, in [0, 1], presumed votes included; 1 for an exact
    name."""
    similarity: float
    """Cosine of the nearest past intent that led here, in [0, 1]; 0 where none did."""
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """A part of the ranking."""

    hits: tuple[Hit, ...]
    total: int
    """Entries in the whole ranking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """What the retrievers say, by slot; 0 where they do not name an entry."""

    texts: NDArray[np.float64]
    votes: NDArray[np.float64]
    meanings: NDArray[np.float64]
    presumed: NDArray[np.float64]
    """What tools that are too new for votes are presumed to get of them, where none names them."""
    nearest: Mapping[int, Neighbour]
    """The most similar past intent that voted for a slot."""
    exact: frozenset[int]
    words: Mapping[str, str]
    """The intent's words as they were written, by the form that is compared."""


class Index:
    """Entries by kind and id.

    Invariant: names, texts, past intents and vectors are those of the entries that are
    there, and nothing else.  Each entry has a slot, which is its row everywhere.
    """

    def __init__(self) -> None:
        self._tokenizer: Tokenizer = Words()
        self._frequencies = Frequencies()
        self._slots: dict[tuple[Found, str], int] = {}
        self._entries: list[Entry | None] = []
        self._free: list[int] = []
        self._kinds = array("b")
        self._names = Names()
        self._texts = Bm25()
        self._intents = PastIntents(self._tokenizer, self._frequencies)
        self._vectors = Vectors()
        self._newness = Newness()

    def put(self, entry: Entry) -> None:
        """Add an entry, or replace the one of its kind and id."""
        slot = self._slots.get((entry.kind, entry.id))
        if slot is None:
            slot = self._slots[entry.kind, entry.id] = self._new_slot()
        old, self._entries[slot] = self._entries[slot], entry
        self._kinds[slot] = _CODES[entry.kind]
        if old is None or document(old) != document(entry):
            self._forget_text(slot)
            self._texts.put(slot, self._tokenizer(document(entry)))
            self._frequencies.add(self._texts.words(slot))
        self._names.put(slot, names(entry))
        self._intents.put(slot, entry.intents)
        self._vectors.own(slot, to_encode(entry))
        self._put_servers(slot, entry)

    def remove(self, kind: Found, id: str) -> None:  # noqa: A002  # the field's name
        """Take an entry out; nothing happens where there is none."""
        slot = self._slots.pop((kind, id), None)
        if slot is None:
            return
        self._forget_text(slot)
        self._names.put(slot, ())
        self._intents.put(slot, ())
        self._vectors.own(slot, ())
        self._newness.forget(slot)
        self._entries[slot] = None
        self._kinds[slot] = 0
        self._free.append(slot)

    def put_vectors(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Add or replace unit vectors by embedding key; those of no entry are left out.

        Raises:
            ValueError: a vector has another dimension than those that are there.
        """
        self._vectors.put(vectors)

    def texts(self) -> Mapping[str, str]:
        """What an encoder should see, by embedding key."""
        held = [entry for entry in self._entries if entry is not None]
        return {key: text for entry in held for key, text in to_encode(entry).items()}

    def entry(self, kind: Found, id: str) -> Entry | None:  # noqa: A002  # the field's name
        """The entry, if it is there."""
        slot = self._slots.get((kind, id))
        return None if slot is None else self._entries[slot]

    def capabilities_named(self, text: str) -> tuple[str, ...]:
        """Ids of the capabilities whose name or id the text is, sorted.

        To the letter, unlike in the ranking: what is found here may run.
        """
        name = text.strip()
        entries = [self._held(slot) for slot in self._names.exact(name)]
        return tuple(
            sorted(
                entry.id
                for entry in entries
                if entry.kind is Found.CAPABILITY
                and name in {entry.id, entry.name, f"{CAPABILITY_SERVER}.{entry.name}"}
            )
        )

    def past_equal(self, intent: str) -> tuple[PastIntent, ...]:
        """The past intents that count as the same (`normalised_intent`)."""
        return self._past(self._intents.equal(intent))

    def past_alike(self, intent: str, limit: int) -> tuple[PastIntent, ...]:
        """The past intents nearest to it that ever succeeded, and those that tie with the last."""
        return self._past(self._intents.nearest(self._tokenizer(intent), limit=limit))

    def idf(self, word: str) -> float:
        """Weight of a word as the tokenizer gives it; the highest for one that was never seen."""
        return self._frequencies.idf(word)

    def rank(
        self,
        intent: str,
        *,
        kind: Kind = "all",
        limit: int = 10,
        offset: int = 0,
        min_score: float = 0.0,
        vector: NDArray[np.float32] | None = None,
    ) -> Ranking:
        """Entries ``offset`` to ``offset + limit`` of those that fit; ties go by id, then kind.

        An intent without a word that says something fits nothing, unless it is a name.

        Args:
            intent: A sentence, or a name.
            kind: What is wanted; other entries do not take part.
            limit: At most so many.
            offset: From where.
            min_score: Entries that score less are left out.
            vector: Of the intent, by the encoder that made those of `put_vectors`.

        Raises:
            ValueError: the vector has another dimension than those that are there.
        """
        found = self._evidence(intent, kind, vector)
        weight = weight_of_votes(found.votes, [found.texts, found.meanings], kind)
        rankings = [found.texts, found.votes, found.meanings]
        scores = fuse(rankings, [1.0, weight, 1.0], [None, found.presumed, None])
        scores[list(found.exact)] = np.inf  # before everything that is only like it
        named = np.flatnonzero((scores > 0) & (scores >= min_score))
        slots = self._first(named, scores, offset + limit)[offset:]
        hits = tuple(self._hit(slot, min(float(scores[slot]), 1.0), found) for slot in slots)
        return Ranking(hits=hits, total=len(named))

    def _evidence(self, intent: str, kind: Kind, vector: NDArray[np.float32] | None) -> _Evidence:
        """Ask every retriever."""
        size = len(self._entries)
        kinds = np.array(self._kinds, np.int8)
        wanted = kinds > 0 if kind == "all" else kinds == _CODES[Found(kind)]
        words = self._tokenizer(intent)
        votes, nearest = self._votes(words)
        meanings = np.zeros(size)
        if vector is not None and words:
            meanings = self._vectors.cosines(vector, size)
        texts = self._texts.scores(words)
        if not (texts.any() or votes.any()):
            meanings[meanings < LEAST_ALONE] = 0
        texts, votes, meanings = texts * wanted, votes * wanted, meanings * wanted
        likest = max((neighbour.cosine for neighbour in nearest.values()), default=0.0)
        return _Evidence(
            texts=texts,
            votes=votes,
            meanings=meanings,
            presumed=presumed_votes(self._newness.tools(), [texts, meanings], likest),
            nearest=nearest,
            exact=frozenset(slot for slot in self._names.exact(intent) if wanted[slot]),
            words={form: word for word in split(intent) for form in self._tokenizer(word)},
        )

    def _votes(self, words: Sequence[str]) -> tuple[NDArray[np.float64], dict[int, Neighbour]]:
        """Squared cosines of the nearest past intents, for their capability and its tools."""
        votes = np.zeros(len(self._entries))
        nearest: dict[int, Neighbour] = {}
        for neighbour in self._intents.nearest(words):
            for slot in self._served_by(neighbour.owner):
                votes[slot] += neighbour.cosine**2
                best = nearest.get(slot)
                if best is None or _order(neighbour) < _order(best):
                    nearest[slot] = neighbour
        return votes, nearest

    def _served_by(self, owner: int) -> set[int]:
        """The slots of a capability and of those of its tools that are there."""
        tools = (self._slots.get((Found.TOOL, tool)) for tool in self._held(owner).tools)
        return {owner, *(slot for slot in tools if slot is not None)}

    def _past(self, neighbours: list[Neighbour]) -> tuple[PastIntent, ...]:
        return tuple(neighbour.past for neighbour in sorted(neighbours, key=_order))

    def _first(
        self, named: NDArray[np.int64], scores: NDArray[np.float64], count: int
    ) -> list[int]:
        """The best slots in order."""
        if len(named) > count > 0:
            values = scores[named]
            last = np.partition(values, len(named) - count)[len(named) - count]
            named = named[values >= last]
        return heapq.nsmallest(count, named.tolist(), key=lambda slot: self._place(slot, scores))

    def _place(self, slot: int, scores: NDArray[np.float64]) -> tuple[float, str, str]:
        entry = self._held(slot)
        return -scores[slot], entry.id, entry.kind

    def _held(self, slot: int) -> Entry:
        entry = self._entries[slot]
        assert entry is not None
        return entry

    def _hit(self, slot: int, score: float, found: _Evidence) -> Hit:
        entry, neighbour = self._held(slot), found.nearest.get(slot)
        return Hit(
            id=entry.id,
            kind=entry.kind,
            score=score,
            similarity=0.0 if neighbour is None else neighbour.cosine,
            reasons=self._reasons(slot, found),
        )

    def _reasons(self, slot: int, found: _Evidence) -> tuple[str, ...]:
        """For people: why the entry stands where it does."""
        reasons = ["this is its name"] if slot in found.exact else []
        shared = [found.words[form] for form in self._texts.words(slot) if form in found.words]
        if shared:
            reasons.append(f"words: {', '.join(sorted(shared))}")
        neighbour = found.nearest.get(slot)
        if neighbour is not None:
            reasons.append(f'ran for "{neighbour.past.intent}" ({neighbour.cosine:.2f} alike)')
        elif found.presumed[slot] > 0 and found.votes.any():
            reasons.append("its server is new: past intents could hardly name it")
        if found.meanings[slot] > 0:
            reasons.append(f"meaning {found.meanings[slot]:.2f} alike")
        return tuple(reasons)

    def _put_servers(self, slot: int, entry: Entry) -> None:
        """Count what past intents used; those that never succeeded do not vote."""
        if entry.kind is Found.TOOL:
            self._newness.put_tool(slot, entry.servers[0] if entry.servers else None)
        else:
            served = sum(past.success_count > 0 for past in entry.intents)
            self._newness.put_capability(slot, entry.servers, served)

    def _new_slot(self) -> int:
        if self._free:
            return self._free.pop()
        self._entries.append(None)
        self._kinds.append(0)
        return len(self._entries) - 1

    def _forget_text(self, slot: int) -> None:
        """Take the text of a slot out, if it has one."""
        if self._texts.has(slot):
            self._frequencies.remove(self._texts.words(slot))
            self._texts.remove(slot)


def _order(neighbour: Neighbour) -> tuple[float, str, str]:
    """The most similar first; ties by capability and text."""
    return -neighbour.cosine, neighbour.past.capability_id, neighbour.past.intent
