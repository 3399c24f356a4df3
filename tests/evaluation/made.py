"""A made data set in which history helps: people ask in words that the tools don't know.

Each tool is described in words of its own; those who want it say other words, which only past
intents tie to it.  A few intents use the tool's own words, so that text search is not blind.
"""

import numpy as np

from pml.evaluation.dataset import Dataset, Dependency, Tool, Workflow

TOOLS = 24
_SYLLABLES = [a + b for a in "bdfgklmnprst" for b in ("an", "el", "ip", "or", "ub")]


def word(rng: np.random.Generator) -> str:
    """A word that means nothing."""
    return "".join(_SYLLABLES[int(i)] for i in rng.integers(len(_SYLLABLES), size=3))


def made(*, seed: int = 0, asked: int = 80, own_words: float = 0.3) -> Dataset:
    """Tools in pairs that are used together; see the head.

    Args:
        seed: Of all that is random.
        asked: Workflows of the split for testing; three times as many are for training.
        own_words: How often an intent says a word of the tool's description.
    """
    rng = np.random.default_rng(seed)
    described = [[word(rng) for _ in range(4)] for _ in range(TOOLS)]
    said = [[word(rng) for _ in range(4)] for _ in range(TOOLS)]
    tools = tuple(
        Tool(id=f"t{i}", server="made", name=f"{words[0]}_tool", description=" ".join(words))
        for i, words in enumerate(described)
    )
    workflows = []
    for number in range(4 * asked):
        first = 2 * int(rng.integers(TOOLS // 2))
        chosen = [*rng.choice(said[first], 2), *rng.choice(said[first + 1], 2)]
        if rng.random() < own_words:
            chosen[0] = rng.choice(described[first])
        workflows.append(
            Workflow(
                id=f"w{number}",
                intent=" ".join(map(str, chosen)),
                nodes=(f"t{first}", f"t{first + 1}"),
                split="test" if number < asked else "train",
            )
        )
    return Dataset(name="made", tools=tools, workflows=tuple(workflows))


def chain(length: int = 4) -> Dataset:
    """Tools that each depend on the next, and on a clock; somebody asks for every one of them."""
    rng = np.random.default_rng(7)
    names = [word(rng) for _ in range(length)]
    tools = [Tool(id=name, server="made", name=name, description=f"does {name}") for name in names]
    clock = Tool(id="clock", server="made", name="clock", description="says the time")
    needs = [*zip(names[1:], names, strict=False), *(("clock", name) for name in names)]
    return Dataset(
        name="chain",
        tools=(*tools, clock),
        workflows=tuple(
            Workflow(
                id=f"w{i}",
                intent=f"I want {name}",
                nodes=("clock", *reversed(names[i:])),
                split="test" if i % 2 else "train",
                main_tool=name,
            )
            for i, name in enumerate(names)
        ),
        dependencies=tuple(
            Dependency(provider=provider, consumer=consumer, type="TOOL")
            for provider, consumer in needs
        ),
    )


VERBS = {"open": "unlock", "close": "shut", "paint": "colour", "repair": "mend", "sell": "auction"}
"""What tools are named after, and what people say instead."""


def workshop(*, nouns: int = 24, seed: int = 0) -> Dataset:
    """Tools ``verb_noun``; people name the noun, and the verb twice, in its own and other words.

    Of other words text tells the noun only, and past intents for other nouns tell the verb.  Each
    tool needs a key, which needs the noun's owner, and declares to need a lamp that nobody fetches.
    """
    rng = np.random.default_rng(seed)
    things = [word(rng) for _ in range(nouns)]
    tools, dependencies, workflows = [], [], []
    for i, noun in enumerate(things):
        needs = [(f"key_{noun}", f"owner_{noun}")]
        for verb, said in VERBS.items():
            name = f"{verb}_{noun}"
            needs += [(name, f"key_{noun}"), (name, "lamp")]
            workflows += [
                Workflow(
                    id=f"{name} {time}",
                    intent=f"{wish} {word(rng)} {noun} {word(rng)}",
                    nodes=(f"owner_{noun}", f"key_{noun}", name),
                    split="test" if i % 3 == 0 else "train",
                    main_tool=name,
                )
                for time, wish in enumerate((verb, said))
            ]
        names = [f"owner_{noun}", f"key_{noun}", *(f"{verb}_{noun}" for verb in VERBS)]
        tools += [Tool(id=name, server="made", name=name) for name in names]
        dependencies += needs
    return Dataset(
        name="workshop",
        tools=(*tools, Tool(id="lamp", server="made", name="lamp")),
        workflows=tuple(workflows),
        dependencies=tuple(
            Dependency(provider=provider, consumer=consumer, type="TOOL")
            for consumer, provider in dependencies
        ),
    )
