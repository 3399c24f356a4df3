"""What the static encoder is trained on: pairs of texts that belong together.

Nothing is labelled by hand.  A tool's own texts say the same thing in different words (its name,
its description, its parameters), a server's overview says what its tools are for, and a request
that was served names tools by what they do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pml.discovery.words import split

_LONG = 12
"""Words from which on a description is worth cutting in two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolText:
    """What a tool says of itself."""

    id: str
    server: str
    name: str
    description: str
    parameters: tuple[str, ...] = ()
    """Names of its inputs."""
    parameter_texts: tuple[str, ...] = ()
    """What describes them."""

    @property
    def served(self) -> str:
        """As search encodes a tool (`pml.discovery.entry`)."""
        return f"{self.server}.{self.name}: {self.description} {' '.join(self.parameters)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What somebody asked for, and the tools that served it."""

    intent: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Everything that may be learned from."""

    tools: tuple[ToolText, ...]
    """Ids are unique."""
    requests: tuple[Request, ...] = ()
    overviews: Mapping[str, str] = field(default_factory=dict)
    """By server."""

    def texts(self) -> Iterator[str]:
        """Every text once; what tokens are learned from."""
        for tool in self.tools:
            yield tool.served
            yield " ".join(tool.parameter_texts)
        yield from self.overviews.values()
        yield from (request.intent for request in self.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs of one kind; a batch is drawn from one kind, so that no kind gives itself away.

    Invariant: as many anchors as targets, as many targets as owners.
    """

    kind: str
    anchors: tuple[str, ...]
    targets: tuple[str, ...]
    owners: tuple[str, ...]
    """What each target is about: two targets of one owner are never each other's negatives."""


def pairs_of(
    corpus: Corpus, rng: np.random.Generator, *, mixtures: int, requests: int = 1
) -> tuple[Pairs, ...]:
    """Pairs of every kind that the corpus has.

    Args:
        corpus: What to learn from.
        rng: Draws servers' tools and mixtures.
        mixtures: How many made requests for two or three tools.
        requests: How often each real request comes.
    """
    tools = [tool for tool in corpus.tools if len(split(tool.description)) > 1]
    made = [
        _pairs("name", ((tool.name, tool.description, tool) for tool in tools)),
        _pairs("description", ((tool.description, _without(tool), tool) for tool in tools)),
        _pairs("parameters", _parameters(tools)),
        _pairs("halves", _halves(tools)),
        _pairs("overview", _overviews(corpus, rng)),
        _pairs("mixture", _mixtures(tools, rng, mixtures)),
        _pairs("request", (each for _ in range(requests) for each in _requests(corpus))),
    ]
    return tuple(pairs for pairs in made if pairs.anchors)


_Triples = Iterator[tuple[str, str, ToolText]]


def _pairs(kind: str, triples: _Triples) -> Pairs:
    kept = [triple for triple in triples if split(triple[0]) and split(triple[1])]
    return Pairs(
        kind=kind,
        anchors=tuple(anchor for anchor, _, _ in kept),
        targets=tuple(target for _, target, _ in kept),
        owners=tuple(" ".join(split(tool.name)) for _, _, tool in kept),
    )


def _without(tool: ToolText) -> str:
    """A tool as search encodes it, but for its description."""
    return f"{tool.server}.{tool.name}: {' '.join(tool.parameters)}"


def _parameters(tools: Sequence[ToolText]) -> _Triples:
    for tool in tools:
        if any(tool.parameter_texts):
            yield " ".join(tool.parameter_texts), f"{tool.name}: {tool.description}", tool


def _halves(tools: Sequence[ToolText]) -> _Triples:
    for tool in tools:
        first, _, rest = tool.description.partition(". ")
        if len(split(first)) > 2 and len(split(rest)) > _LONG // 2:  # noqa: PLR2004
            yield first, rest, tool


def _overviews(corpus: Corpus, rng: np.random.Generator) -> _Triples:
    """Each server's overview with a few of its tools."""
    by_server: dict[str, list[ToolText]] = {}
    for tool in corpus.tools:
        by_server.setdefault(tool.server, []).append(tool)
    for server, overview in corpus.overviews.items():
        tools = by_server.get(server, [])
        for place in rng.permutation(len(tools))[:3].tolist():
            tool = tools[place]
            yield overview, f"{tool.name}: {tool.description}", tool


def _mixtures(tools: Sequence[ToolText], rng: np.random.Generator, count: int) -> _Triples:
    """Made requests for two or three tools at once, as people make them."""
    if not tools:
        return
    for _ in range(count):
        drawn = [tools[place] for place in rng.integers(len(tools), size=rng.integers(2, 4))]
        said = ". ".join(tool.description for tool in drawn)
        yield said, _without(drawn[0]), drawn[0]


def _requests(corpus: Corpus) -> _Triples:
    known = {tool.id: tool for tool in corpus.tools}
    for request in corpus.requests:
        for one in dict.fromkeys(request.tools):
            if one in known:
                yield request.intent, known[one].served, known[one]
