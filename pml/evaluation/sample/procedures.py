"""The town's procedures: what people do for an errand, and the words in which they ask for it.

Nobody writes them down anywhere in the set; they are what a method can learn.  An errand's
main tool brings all that it depends on.  Each shop then has a habit of its own for what comes
after (the clinic's bookings go into the calendar, the ferry's are paid), which no schema tells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from pml.evaluation.dataset import Dependency
from pml.evaluation.sample.town import SHOPS, Shop, dependencies

Links = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """What serves an errand.

    Invariant: ``nodes`` has no tool twice, and links go forward in it.
    """

    name: str
    server: str
    nodes: tuple[str, ...]
    links: Links
    main_tool: str | None
    """The tool that was asked for; None where a habit adds what nothing depends on."""
    asks: tuple[str, ...]
    """Ways to ask; ``{thing}``, ``{day}``, ``{name}`` and ``{count}`` are filled in."""
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Errand:
    main: str
    habits: Sequence[tuple[str, ...]]
    """By shop of the kind: what follows, as ``provider > tool`` or ``tool``."""
    asks: tuple[str, ...]


_ERRANDS = {
    "booking": (
        _Errand(
            main="book_{n}",
            habits=((), (), ()),
            asks=(
                "Book a {thing} for {day}",
                "I would like a {thing} on {day}, please",
                "Reserve the {thing} for {name} {day}",
                "Can you arrange a {thing} around {day}?",
                "Get {name} a place: {thing}, {day}",
            ),
        ),
        _Errand(
            main="book_{n}",
            habits=(
                ("calendar.add_entry", "calendar.add_entry > people.invite"),
                ("book_{n} > purse.pay",),
                ("book_{n} > purse.pay", "calendar.add_entry"),
            ),
            asks=(
                "Settle everything about a {thing} for {day}",
                "Take care of the {thing} with {name}, all of it, {day}",
                "{name} wants a {thing} on {day}, do whatever it takes",
                "Plan the whole {thing} for {day}",
            ),
        ),
        _Errand(
            main="cancel_booking",
            habits=((), ("cancel_booking > purse.ask_refund",), ("calendar.find_entry",)),
            asks=(
                "Call off the {thing} of {name}",
                "{name} cannot come to the {thing} after all",
                "We do not need the {thing} on {day} any more",
                "Drop {name} from the {thing}",
            ),
        ),
    ),
    "ordering": (
        _Errand(
            main="place_order",
            habits=((), ("fill_basket > purse.pay",), ()),
            asks=(
                "Order {count} times {thing} for {name}",
                "Have a {thing} delivered to {name} by {day}",
                "{name} needs a {thing}, {count} pieces",
                "Buy {name} a {thing}",
                "Surprise {name} with a {thing} on {day}",
            ),
        ),
        _Errand(
            main="place_order",
            habits=(
                ("place_order > purse.pay", "people.find_person > people.send_letter"),
                ("calendar.add_entry",),
                ("place_order > purse.pay",),
            ),
            asks=(
                "Treat {name} to a {thing} with all the trimmings",
                "Do the usual {thing} for {name}",
                "The {day} routine for {name}: {thing}",
            ),
        ),
        _Errand(
            main="track_order",
            habits=((), (), ("people.find_person > people.send_letter",)),
            asks=(
                "Where is the {thing} of {name}?",
                "Has the {thing} for {name} left yet?",
                "When does {name} get the {thing}?",
                "The {thing} should have come on {day}, what happened to it",
            ),
        ),
    ),
    "lending": (
        _Errand(
            main="borrow_{n}",
            habits=((), ("calendar.add_entry",), ("purse.pay",)),
            asks=(
                "Borrow a {thing} for {name}",
                "{name} needs a {thing} until {day}",
                "Fetch us a {thing} from {day} on",
                "Is there a {thing} that {name} can take home?",
            ),
        ),
        _Errand(
            main="extend_loan",
            habits=((), ("people.send_letter",), ()),
            asks=(
                "Keep the {thing} of {name} until {day}",
                "{name} is not done with the {thing}",
                "May {name} have the {thing} {count} weeks more?",
                "Renew the {thing} for {name}",
            ),
        ),
        _Errand(
            main="list_loans",
            habits=((), (), ()),
            asks=(
                "Which {thing} does {name} still have?",
                "Does {name} owe anybody a {thing}?",
                "When is the {thing} of {name} due?",
            ),
        ),
    ),
}
_OFFICE_ERRANDS = {
    "calendar": (
        _Errand(
            main="calendar.move_entry",
            habits=((),),
            asks=("Put off the {thing} with {name}", "The {thing} has to wait until next week"),
        ),
        _Errand(
            main="people.invite",
            habits=((),),
            asks=("Ask {name} along to the {thing}", "{name} should come to the {thing} as well"),
        ),
    ),
    "purse": (
        _Errand(
            main="purse.top_up",
            habits=(("people.read_letters",),),
            asks=("Is there enough for the {thing}? If not, see to it",),
        ),
    ),
}
_OFFICE_WORDS = ("meeting", "picnic", "choir", "chess evening")


@cache
def procedures() -> tuple[Procedure, ...]:
    """All of them, shop by shop, then those of the offices."""
    found = []
    for shop in SHOPS:
        place = [other for other in SHOPS if other.kind == shop.kind].index(shop)
        for number, errand in enumerate(_ERRANDS[shop.kind]):
            found.append(_procedure(f"{shop.server} {number}", shop, errand, errand.habits[place]))
    for server, errands in _OFFICE_ERRANDS.items():
        office = Shop(server=server, kind="office", noun="", words=_OFFICE_WORDS)
        for number, errand in enumerate(errands):
            found.append(_procedure(f"{server} {number}", office, errand, errand.habits[0]))
    return tuple(found)


def _procedure(name: str, shop: Shop, errand: _Errand, habit: tuple[str, ...]) -> Procedure:
    main = _id(shop, errand.main)
    nodes, links = closure(main, dependencies())
    for step in habit:
        provider, _, tool = step.rpartition(" > ")
        added = _id(shop, tool)
        nodes = (*nodes, added)
        # What follows without being fed still follows: the link says what came before it.
        links = (*links, (_id(shop, provider) if provider else nodes[-2], added))
    return Procedure(
        name=name,
        server=shop.server,
        nodes=nodes,
        links=links,
        main_tool=None if habit else main,
        asks=errand.asks,
        words=shop.words,
    )


def _id(shop: Shop, tool: str) -> str:
    called = tool.format(n=shop.noun)
    return called if "." in called else f"{shop.server}.{called}"


def closure(main: str, known: Sequence[Dependency]) -> tuple[tuple[str, ...], Links]:
    """All that a tool depends on and the tool itself, each after what it needs; and the links."""
    nodes: list[str] = []

    def visit(tool: str) -> None:
        for each in known:
            if each.consumer == tool and each.provider not in nodes:
                visit(each.provider)
        nodes.append(tool)

    visit(main)
    links = [
        (each.provider, each.consumer)
        for each in known
        if {each.provider, each.consumer} <= {*nodes}
    ]
    return tuple(nodes), tuple(links)
