"""A small corpus of our own, and an encoder trained on it."""

from functools import cache
from pathlib import Path

from pml.embedding.folder import write_static
from pml.embedding.pairs import Corpus, Request, ToolText
from pml.embedding.quantising import quantised
from pml.embedding.training import EncoderConfig, Trained, train_encoder

_VERBS = {"get": "Fetches", "remove": "Deletes", "make": "Creates", "send": "Transmits"}
_THINGS = {
    "car": "a vehicle for the road",
    "letter": "mail on paper",
    "meal": "something to eat",
    "song": "a piece of music",
    "ticket": "a seat in a train",
}

CONFIG = EncoderConfig(
    vocabulary=300,
    dimension=16,
    prefixes=(8, 16),
    epochs=6,
    batch=16,
    mixtures=20,
)


def corpus() -> Corpus:
    tools = tuple(
        ToolText(
            id=f"{verb}_{thing}",
            server=f"{thing}s",
            name=f"{verb}_{thing}",
            description=f"{does} {what} of the caller's choice.",
            parameters=(f"{thing}Id", "user_name"),
            parameter_texts=(f"which {what}", "who asks"),
        )
        for verb, does in _VERBS.items()
        for thing, what in _THINGS.items()
    )
    return Corpus(
        tools=tools,
        requests=tuple(
            Request(intent=f"please {one.description}", tools=(one.id,)) for one in tools
        ),
        overviews={f"{thing}s": f"All about {what}" for thing, what in _THINGS.items()},
    )


@cache
def trained() -> Trained:
    return train_encoder(corpus(), CONFIG, seed=5)


def written(folder: Path) -> Path:
    """The trained encoder in a folder."""
    write_static(folder, trained().tokenizer, *quantised(trained().rows))
    return folder
