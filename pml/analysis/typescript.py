"""TypeScript types as values, and how they are written.  Pure.

`pml.analysis.schema_types` makes them of JSON Schemas; here they are simplified and spelled,
on one line for lists that agents read, or over several with comments for editors.
"""

import json
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 90
"""Of a line; an object that is longer, or that has comments, is spread over several."""
_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_ESCAPED = re.compile("[\ud800-\udfff\u2028\u2029]")
"""Halves of pairs, which no file can hold, and what TypeScript takes for the end of a line."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Word:
    """A type that is written as it is: ``string``, ``"a"``, the name of another type."""

    text: str


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """``item[]``."""

    item: "Type"


@dataclass(frozen=True, slots=True)
class TupleOf:
    """``[a, b?, ...rest[]]``."""

    firsts: "tuple[Type, ...]"
    needed: int
    """How many of the first ones are always there."""
    rest: "Type | None"
    """None: there are no others."""


@dataclass(frozen=True, slots=True)
class Member:
    """One property of an object type."""

    name: str
    type: "Type"
    optional: bool
    readonly: bool = False
    notes: tuple[str, ...] = ()
    """What its comment says, by line; written where there is room for comments."""
    tail: str = ""
    """Written after the type, also on one line."""


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """``{ a: string; [name: string]: unknown }``."""

    members: tuple[Member, ...]
    others: "Type | None"
    """Type of the properties that have no member; None: there are none."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A union (``|``) or an intersection (``&``) of at least two different types."""

    sign: str
    parts: "tuple[Type, ...]"


Type: TypeAlias = Word | ArrayOf | TupleOf | ObjectOf | Joined

UNKNOWN, NEVER, NULL, UNDEFINED = Word("unknown"), Word("never"), Word("null"), Word("undefined")
ANY_OBJECT, ANY_ARRAY = ObjectOf((), UNKNOWN), ArrayOf(UNKNOWN)


def union(options: Iterable[Type]) -> Type:
    """What any of the options allows; nothing where there are none."""
    each = [part for option in options for part in _parts(option, "|")]
    each = [part for part in dict.fromkeys(each) if part != NEVER]
    if UNKNOWN in each:
        return UNKNOWN
    return _joined("|", each) if each else NEVER


def intersection(parts: Iterable[Type]) -> Type:
    """What all of the parts allow."""
    each = [part for one in parts for part in _parts(one, "&")]
    each = [part for part in dict.fromkeys(each) if part != UNKNOWN]
    return _joined("&", each) if each else UNKNOWN


def _parts(one: Type, sign: str) -> tuple[Type, ...]:
    return one.parts if isinstance(one, Joined) and one.sign == sign else (one,)


def _joined(sign: str, each: list[Type]) -> Type:
    return each[0] if len(each) == 1 else Joined(sign, tuple(each))


# Spelling --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spelling:
    """How types are written.

    ``anything`` is the word for what nobody knows: ``unknown``, or ``any`` where code that
    uses it shall pass.
    """

    anything: str = UNKNOWN.text
    several_lines: bool = False

    def of(self, one: Type, indent: str = "") -> str:
        """The type; further lines begin with ``indent``."""
        match one:
            case Word(text):
                return self.anything if one == UNKNOWN else text
            case ArrayOf(item):
                return f"{self._grouped(item, indent)}[]"
            case TupleOf():
                return self._tuple(one, indent)
            case ObjectOf():
                return self._object(one, indent)
            case Joined(sign, parts):
                return f" {sign} ".join(self._grouped(part, indent) for part in parts)

    def _grouped(self, one: Type, indent: str) -> str:
        """In parentheses where what stands beside would only reach its last part."""
        made = self.of(one, indent)
        return f"({made})" if isinstance(one, Joined) else made

    def _tuple(self, one: TupleOf, indent: str) -> str:
        parts = [self.of(first, indent) for first in one.firsts[: one.needed]]
        parts += [f"{self._grouped(first, indent)}?" for first in one.firsts[one.needed :]]
        if one.rest is not None:
            parts.append(f"...{self._grouped(one.rest, indent)}[]")
        return f"[{', '.join(parts)}]"

    def _object(self, one: ObjectOf, indent: str) -> str:
        if not one.members and not (self.several_lines and one.others is not None):
            value = NEVER if one.others is None else one.others
            return f"Record<string, {self.of(value, indent)}>"
        if not self.several_lines:
            return self._on_one_line(one)
        if not any(member.notes for member in one.members):
            made = self._on_one_line(one)
            if len(indent) + len(made) <= WIDTH and "\n" not in made:
                return made
        return self._over_lines(one, indent)

    def _on_one_line(self, one: ObjectOf) -> str:
        parts = [self._member(member, "") for member in one.members]
        if one.others is not None:
            parts.append(f"[name: string]: {self.of(one.others)}")
        return "{ " + "; ".join(parts) + " }"

    def _over_lines(self, one: ObjectOf, indent: str) -> str:
        within = indent + "  "
        lines = ["{"]
        for member in one.members:
            lines += comment(member.notes, within)
            lines.append(f"{within}{self._member(member, within)};")
        if one.others is not None:
            lines.append(f"{within}[name: string]: {self.of(one.others, within)};")
        return "\n".join([*lines, indent + "}"])

    def _member(self, member: Member, indent: str) -> str:
        readonly = "readonly " if member.readonly else ""
        question = "?" if member.optional else ""
        made = self.of(member.type, indent)
        return f"{readonly}{key(member.name)}{question}: {made}{member.tail}"


def comment(notes: Iterable[str], indent: str) -> list[str]:
    """The lines of a JSDoc comment; none where there is nothing to say."""
    text = "\n".join(notes).replace("*/", "*\\/").strip()
    if not text:
        return []
    lines = [part for line in text.split("\n") for part in _wrapped(_CONTROL.sub(" ", line))]
    if len(lines) == 1:
        return [f"{indent}/** {lines[0]} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]


def _wrapped(line: str) -> list[str]:
    """The line in parts that fit; what is indented stays as its author wrote it."""
    if len(line) <= WIDTH or line[:1].isspace():
        return [line.rstrip()]
    return textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)


def quoted(value: object) -> str:
    """JSON text on one line, as TypeScript reads it too; ``...`` where JSON cannot hold it."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "..."
    return _ESCAPED.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def key(name: str) -> str:
    """A property's name where a type lists it."""
    return name if _PLAIN.fullmatch(name) else quoted(name)


def access(name: str) -> str:
    """What follows an object in code that takes this property of it."""
    return f".{name}" if _PLAIN.fullmatch(name) else f"[{quoted(name)}]"
