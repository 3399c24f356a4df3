"""Requests of the sample set: who asked for which errand, in which words, served by what."""

from dataclasses import dataclass

import numpy as np

from pml.evaluation.dataset import TRAIN, Workflow
from pml.evaluation.sample.procedures import Procedure, procedures
from pml.evaluation.sample.town import UNSEEN

NAMES = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jude", "Kai", "Lena")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NOTES = ("Every spring.", "For the whole street.", "As last year.", "Costs little.")
_LETTER = "people.send_letter"
_FIND = "people.find_person"

_P_DEV, _P_TEST = 0.1, 0.2
_P_UNSEEN_SHOP = 0.06
"""Share of requests to shops that nobody used in training."""
_P_LETTER = 0.12
"""How often somebody wants a letter sent as well, and says so."""
_P_DESCRIBED = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A workflow, and what is known of it beside the set's columns."""

    workflow: Workflow
    name: str
    day: str
    count: int


def pick(rng: np.random.Generator, things: tuple[str, ...]) -> str:
    """One of them."""
    return things[int(rng.integers(len(things)))]


def requests(rng: np.random.Generator, n: int) -> tuple[Request, ...]:
    """``n`` requests; procedures that come early in their shop are asked for more often."""
    known = [each for each in procedures() if each.server not in UNSEEN]
    unseen = [each for each in procedures() if each.server in UNSEEN]
    made = []
    for number in range(n):
        new = rng.random() < _P_UNSEEN_SHOP
        procedure = _drawn(rng, unseen if new else known)
        made.append(_request(rng, f"errand-{number:03}", procedure, _split(rng, new=new)))
    return tuple(made)


def _drawn(rng: np.random.Generator, among: list[Procedure]) -> Procedure:
    weights = np.array([1 / (1 + int(each.name.split()[-1])) for each in among])
    at = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random())
    return among[min(int(at), len(among) - 1)]


def _split(rng: np.random.Generator, *, new: bool) -> str:
    drawn = rng.random()
    if new or drawn < _P_TEST:
        return "test"
    return "dev" if drawn < _P_TEST + _P_DEV else TRAIN


def _request(rng: np.random.Generator, number: str, asked: Procedure, split: str) -> Request:
    name, day, count = pick(rng, NAMES), pick(rng, DAYS), int(rng.integers(2, 6))
    thing = pick(rng, asked.words)
    intent = pick(rng, asked.asks).format(thing=thing, name=name, day=day, count=count)
    nodes, links, main = asked.nodes, asked.links, asked.main_tool
    if rng.random() < _P_LETTER and _LETTER not in nodes:
        intent += f", and write to {pick(rng, NAMES)}"
        nodes = (*nodes, *(() if _FIND in nodes else (_FIND,)), _LETTER)
        links, main = (*links, (_FIND, _LETTER)), None
    described = f"{asked.server.title()} errand for {name}: {pick(rng, asked.words)}, {day}."
    workflow = Workflow(
        id=number,
        intent=intent,
        nodes=nodes,
        edges=tuple(sorted({(nodes.index(start), nodes.index(end)) for start, end in links})),
        split=split,
        description=described if rng.random() < _P_DESCRIBED else None,
        notes=pick(rng, _NOTES) if rng.random() < _P_DESCRIBED else None,
        node_names=tuple(node.split(".")[1].replace("_", " ").capitalize() for node in nodes),
        main_tool=main,
    )
    return Request(workflow=workflow, name=name, day=day, count=count)
