"""The town of the sample set: twelve servers with five tools each, and who needs whom.

Nine shops come in three kinds (a booking desk, an order counter, a lending desk), and three
offices serve them all.  Field names mostly match from one tool to the next, but not always
(``price`` is paid as ``amount``), so that names alone do not tell which result feeds which call.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from pml.evaluation.dataset import Dependency, Tool

PARAMETER = "PARAMETER"
"""Type of a dependency: the provider's result fills a parameter of the consumer."""
ORDER = "TOOL"
"""Type of a dependency: the provider has to be called before, whatever it gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """A server, and the words that people have for what it gives."""

    server: str
    kind: str
    noun: str
    words: tuple[str, ...]
    """How people say it; the tools' texts use the first."""


SHOPS = (
    Shop(
        server="clinic",
        kind="booking",
        noun="checkup",
        words=("checkup", "doctor's visit", "health examination"),
    ),
    Shop(
        server="ferry", kind="booking", noun="crossing", words=("crossing", "boat trip", "sailing")
    ),
    Shop(server="cinema", kind="booking", noun="film", words=("film", "movie", "picture show")),
    Shop(server="bakery", kind="ordering", noun="cake", words=("cake", "birthday tart", "gateau")),
    Shop(
        server="market",
        kind="ordering",
        noun="vegetable",
        words=("vegetable", "crate of greens", "bag of carrots"),
    ),
    Shop(
        server="florist",
        kind="ordering",
        noun="bouquet",
        words=("bouquet", "bunch of roses", "flower arrangement"),
    ),
    Shop(server="library", kind="lending", noun="book", words=("book", "novel", "volume")),
    Shop(
        server="toolshed",
        kind="lending",
        noun="ladder",
        words=("ladder", "pair of steps", "climbing frame"),
    ),
    Shop(
        server="boathouse",
        kind="lending",
        noun="canoe",
        words=("canoe", "rowing boat", "kayak"),
    ),
)
UNSEEN = ("florist", "boathouse")
"""Shops that nobody has used in training."""

_TYPES = {"count": "integer", "amount": "number", "price": "number", "total": "number"}
_TYPES |= {"refund": "number", "balance": "number", "free": "boolean"}

# name: (description, inputs, outputs); `{n}` is the shop's noun.
_Texts: TypeAlias = Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]]
_KINDS: Mapping[str, _Texts] = {
    "booking": {
        "find_{n}": ("Finds a {n} by its title", ("title",), ("{n}_id", "title")),
        "list_times": ("Lists when a {n} takes place on a day", ("{n}_id", "day"), ("slot",)),
        "book_{n}": (
            "Books a {n} at one of its times",
            ("{n}_id", "slot"),
            ("booking_id", "price"),
        ),
        "show_booking": ("Shows the booking of a person", ("person_id",), ("booking_id", "price")),
        "cancel_booking": ("Cancels a booking", ("booking_id",), ("refund",)),
    },
    "ordering": {
        "search_{n}s": ("Searches the {n}s on offer", ("kind",), ("item_id", "price")),
        "fill_basket": (
            "Puts an item into the basket",
            ("item_id", "count"),
            ("basket_id", "total"),
        ),
        "place_order": (
            "Orders what is in the basket, to an address",
            ("basket_id", "address"),
            ("order_id", "total"),
        ),
        "list_orders": ("Lists the orders of a person", ("person_id",), ("order_id", "state")),
        "track_order": ("Tells where the order of a {n} is", ("order_id",), ("state", "arrival")),
    },
    "lending": {
        "look_up_{n}": ("Looks up a {n} in the list", ("title",), ("copy_id",)),
        "check_shelf": ("Checks whether a {n} is there", ("copy_id",), ("free",)),
        "borrow_{n}": ("Lends a {n} to the holder of a card", ("copy_id", "card"), ("loan_id",)),
        "list_loans": ("Lists what the holder of a card has", ("card",), ("loan_id", "due_day")),
        "extend_loan": ("Extends the loan of a {n}", ("loan_id",), ("due_day",)),
    },
}
_NEEDS = {
    "booking": (
        ("find_{n}", "list_times", "{n}_id"),
        ("calendar.free_day", "list_times", "day"),
        ("find_{n}", "book_{n}", "{n}_id"),
        ("list_times", "book_{n}", "slot"),
        ("people.find_person", "show_booking", "person_id"),
        ("show_booking", "cancel_booking", "booking_id"),
    ),
    "ordering": (
        ("search_{n}s", "fill_basket", "item_id"),
        ("fill_basket", "place_order", "basket_id"),
        ("people.find_person", "place_order", "address"),
        ("people.find_person", "list_orders", "person_id"),
        ("list_orders", "track_order", "order_id"),
    ),
    "lending": (
        ("look_up_{n}", "check_shelf", "copy_id"),
        ("look_up_{n}", "borrow_{n}", "copy_id"),
        ("check_shelf", "borrow_{n}", None),
        ("people.get_card", "borrow_{n}", "card"),
        ("people.get_card", "list_loans", "card"),
        ("list_loans", "extend_loan", "loan_id"),
    ),
}
_OFFICES: Mapping[str, _Texts] = {
    "purse": {
        "check_balance": ("Tells how much money there is", (), ("balance",)),
        "pay": ("Pays an amount of money", ("amount", "reason"), ("receipt_id",)),
        "ask_refund": ("Asks for money back", ("amount",), ("receipt_id",)),
        "list_receipts": ("Lists what was paid in a week", ("week",), ("receipt_id",)),
        "top_up": ("Puts money into the purse", ("amount",), ("balance",)),
    },
    "calendar": {
        "free_day": ("Finds a day without entries in a week", ("week",), ("day",)),
        "add_entry": ("Writes an entry into the calendar", ("title", "day"), ("entry_id",)),
        "find_entry": ("Finds an entry by its title", ("title",), ("entry_id", "day")),
        "move_entry": ("Moves an entry to another day", ("entry_id", "day"), ("entry_id",)),
        "remove_entry": ("Removes an entry", ("entry_id",), ()),
    },
    "people": {
        "find_person": ("Finds a person by name", ("name",), ("person_id", "address")),
        "get_card": ("Gets the card of a person", ("person_id",), ("card",)),
        "send_letter": ("Sends a letter to an address", ("address", "text"), ("letter_id",)),
        "invite": ("Invites a person to an entry", ("person_id", "entry_id"), ("invitation_id",)),
        "read_letters": ("Reads the letters of a week", ("week",), ("text",)),
    },
}
_OFFICE_NEEDS = (
    ("calendar.find_entry", "calendar.move_entry", "entry_id"),
    ("calendar.free_day", "calendar.move_entry", "day"),
    ("calendar.find_entry", "calendar.remove_entry", "entry_id"),
    ("people.find_person", "people.get_card", "person_id"),
    ("people.find_person", "people.send_letter", "address"),
    ("people.find_person", "people.invite", "person_id"),
    ("calendar.find_entry", "people.invite", "entry_id"),
    ("purse.check_balance", "purse.top_up", None),
)


@cache
def tools() -> tuple[Tool, ...]:
    """The sixty tools, shop by shop, then the offices."""
    of_shops = (
        _tool(shop.server, name, text, shop.noun)
        for shop in SHOPS
        for name, text in _KINDS[shop.kind].items()
    )
    of_offices = (
        _tool(server, name, text, "")
        for server, texts in _OFFICES.items()
        for name, text in texts.items()
    )
    return (*of_shops, *of_offices)


def _tool(
    server: str, name: str, text: tuple[str, tuple[str, ...], tuple[str, ...]], noun: str
) -> Tool:
    description, inputs, outputs = text
    called = name.format(n=noun)
    return Tool(
        id=f"{server}.{called}",
        server=server,
        name=called,
        description=description.format(n=noun) + ".",
        input_schema=_schema(inputs, noun),
        output_schema=_schema(outputs, noun),
    )


def _schema(fields: tuple[str, ...], noun: str) -> dict[str, object]:
    names = [field.format(n=noun) for field in fields]
    return {
        "type": "object",
        "properties": {name: {"type": _TYPES.get(name, "string")} for name in names},
        "required": names,
    }


@cache
def dependencies() -> tuple[Dependency, ...]:
    """Who needs whom, shop by shop, then the offices."""
    of_shops = (
        _dependency(shop.server, need, shop.noun) for shop in SHOPS for need in _NEEDS[shop.kind]
    )
    return (*of_shops, *(_dependency("", need, "") for need in _OFFICE_NEEDS))


def _dependency(server: str, need: tuple[str, str, str | None], noun: str) -> Dependency:
    provider, consumer, parameter = need
    return Dependency(
        provider=_id(server, provider, noun),
        consumer=_id(server, consumer, noun),
        type=ORDER if parameter is None else PARAMETER,
        parameter=None if parameter is None else parameter.format(n=noun),
    )


def _id(server: str, name: str, noun: str) -> str:
    called = name.format(n=noun)
    return called if "." in called else f"{server}.{called}"
