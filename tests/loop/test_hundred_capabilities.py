"""A hundred procedures, each learned from a run, are found again by intent (MCP-1, SA-8, ST-8)."""

import itertools
from typing import NamedTuple

import pytest

from pml.domain.discovery import DiscoverRequest
from pml.domain.permissions import Effect
from pml.domain.response import ExecuteRequest
from pml.loop.act import Act
from pml.loop.discover import Discover
from tests.loop.outside import Outside, echo

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Verb(NamedTuple):
    """A verb as people write it first, and when they ask again."""

    plain: str
    inflected: str


VERBS = (
    Verb("summarise", "summarising"),
    Verb("archive", "archiving"),
    Verb("translate", "translated"),
    Verb("compare", "comparing"),
    Verb("count", "counted"),
    Verb("publish", "publishing"),
    Verb("validate", "validated"),
    Verb("rename", "renaming"),
    Verb("merge", "merged"),
    Verb("schedule", "scheduling"),
)
OBJECTS = (
    ("invoices", "invoice", "of last month"),
    ("customer contracts", "contract of a customer", "in the archive"),
    ("meeting notes", "notes of a meeting", "of the board"),
    ("log files", "log file", "of the web server"),
    ("photos", "photo", "from the holiday"),
    ("test results", "results of tests", "of the nightly build"),
    ("price lists", "list of prices", "for wholesale"),
    ("job applications", "application for a job", "for engineers"),
    ("release notes", "notes on releases", "for the next version"),
    ("expense claims", "claim of expenses", "from travelling staff"),
)


class Procedure(NamedTuple):
    """A program, the intent that it is sent with, and how somebody else would put it."""

    intent: str
    paraphrase: str
    code: str


def procedures() -> list[Procedure]:
    made = []
    for number, (verb, things) in enumerate(itertools.product(VERBS, OBJECTS)):
        objects, one, qualifier = things
        store = objects.replace(" ", "_")
        steps = [f'const found = await mcp.{store}.list({{ folder: "in/{number}" }});']
        steps += [f"await mcp.{store}.check({{ n: {step} }});" for step in range(number % 4)]
        steps += [f"return await mcp.office.{verb.plain}({{ items: found }});"]
        made.append(
            Procedure(
                intent=f"{verb.plain} the {objects} {qualifier}",
                paraphrase=f"{one} {qualifier}: {verb.inflected} it please",
                code="\n".join(steps),
            )
        )
    return made


async def test_each_of_a_hundred_is_first_by_its_intent_and_among_three_by_a_paraphrase(
    act: Act, outside: Outside
) -> None:
    for objects, _one, _qualifier in OBJECTS:
        store = objects.replace(" ", "_")
        outside.offer(f"{store}:list", echo, Effect.READ)
        outside.offer(f"{store}:check", echo, Effect.READ)
    for verb in VERBS:
        outside.offer(f"office:{verb.plain}", echo)
    learned: dict[str, Procedure] = {}
    for procedure in procedures():
        request = ExecuteRequest(intent=procedure.intent, code=procedure.code)
        answer = await act.execute(request)
        assert answer.capability_id is not None, answer.error
        learned[answer.capability_id] = procedure
    assert len(learned) == 100
    discover = Discover(library=act.library, limits=act.limits, notes=tuple)

    async def found_by(intent: str) -> list[str]:
        answer = await discover(DiscoverRequest(intent=intent, limit=3, detail="brief"))
        return [result.id for result in answer.results]

    firsts = {each: (await found_by(procedure.intent))[0] for each, procedure in learned.items()}
    assert firsts == {each: each for each in learned}
    lost = [
        procedure.paraphrase
        for each, procedure in learned.items()
        if each not in await found_by(procedure.paraphrase)
    ]
    assert lost == []
