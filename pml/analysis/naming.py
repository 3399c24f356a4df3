"""What a value is called: every name under which the program holds it, passes it or compares it.

One climb answers it.  From the expression outwards through syntax that hands its value on
(``x ?? "v"``, ``["v"][0]``, ``String("v")``), and from there to whatever names it: the key of its
pair, the variable, parameter or loop variable that gets it, and then every use of that variable
again; the other side of a comparison; the text beside it (``["password", "v"]``).
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import ClassVar

from pml.analysis.functions import arguments_of, method_of, receiver_of
from pml.analysis.literals import NOT_LITERAL, key_name, literal, string_value
from pml.analysis.patterns import Into, Path, Step
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import FUNCTIONS, MEMBERS, Source, Syntax, bare, wrapped

_CONVERSIONS = frozenset(
    """
    String Object Array Map Set Headers URLSearchParams atob btoa encodeURIComponent encodeURI
    structuredClone JSON.stringify Object.freeze Object.entries Object.fromEntries Array.of
    Array.from Promise.resolve
    """.split()  # noqa: SIM905
)
"""What gives back, in another form, what it gets."""
_SETTERS = frozenset({"set", "append", "setItem", "setHeader", "header"})
"""Methods that get a name and a value."""
_COMPARING = frozenset({"===", "!==", "==", "!="})
_DEFAULTING = frozenset({"??", "||"})
_ASSIGNING = frozenset({"??=", "||=", "&&="})
_VALUES = frozenset({"value", "values", "val", "content", "default"})
"""Keys that say nothing of what they hold: a pair beside them may."""
_MOST_SIBLINGS = 32
_MOST_STEPS = 4
_MOST_HOLDERS = 500
"""Bounds of what is followed, for programs that put values in themselves."""
_MOST_LOOKS = 300_000
"""In one source; about half a second."""
_PASSING = frozenset(
    {"object", "template_substitution", "spread_element", "await_expression", "sequence_expression"}
    | {"literal_type", "type_annotation", "parenthesized_type", "array_type", "tuple_type"}
    | {"readonly_type", "object_type", "interface_body"}
)
"""What has the value of what is in it."""
_NAMING = {
    "public_field_definition": ("value", "name"),
    "enum_assignment": ("value", "name"),
    "property_signature": ("type", "name"),
    "type_alias_declaration": ("value", "name"),
    "variable_declarator": ("type", "name"),
    "required_parameter": ("type", "pattern"),
    "optional_parameter": ("type", "pattern"),
}
"""By kind the field that holds a value, or its type, and the field that names it."""
_Up = Iterator[str | Path | None]
"""Names; at the end, where the value goes on outwards, the path to it in what is around."""


class Naming:
    """The names of values.  ``scopes`` are complete: `Functions` has seen them."""

    def __init__(self, source: Source, scopes: Scopes | None) -> None:
        self._source = source
        self._scopes = scopes
        self._looks = 0
        self._given: dict[Syntax, list[tuple[Binding, Path]]] = {}
        bindings = {} if scopes is None else dict.fromkeys(scopes.targets.values())
        for binding in bindings:
            for one in binding.definitions:
                if "+=" not in one.at.tokens:
                    self._given.setdefault(bare(one.value), []).append((binding, one.path))

    def of(self, expression: Syntax) -> Iterator[str]:
        """What the value of an expression is called, nearest first; names may repeat.

        Raises:
            RecursionError: so many variables hold the values that nobody can follow them.
        """
        pending: deque[tuple[Syntax, Path]] = deque([(wrapped(expression), ())])
        seen: set[tuple[Binding, Path]] = set()
        while pending:
            place, path = pending.popleft()
            self._look(1)
            for binding, taken in self._given.get(bare(place), ()):
                rest = _left(path, taken)
                self._look(1)
                if rest is None or (binding, rest) in seen or len(seen) == _MOST_HOLDERS:
                    continue
                seen.add((binding, rest))
                yield binding.name
                self._look(len(binding.uses))
                pending += [(wrapped(use), rest) for use in binding.uses]
            for found in self._up(place, path):
                if isinstance(found, str):
                    yield found
                elif found is not None and place.parent is not None:
                    pending.appendleft((wrapped(place.parent), found))

    def _look(self, times: int) -> None:
        self._looks += times
        if self._looks > _MOST_LOOKS:
            msg = "the values of the program are too entangled"
            raise RecursionError(msg)

    def of_text(self, node: Syntax) -> Iterator[str]:
        """Of a text: none for one that is only a part of what is computed."""
        return self.of(node) if self._constant(node) else iter(())

    def _up(self, place: Syntax, path: Path) -> _Up:
        parent = place.parent
        if parent is None:
            return
        if place.kind == "shorthand_property_identifier":
            yield self._source.name(place)
            yield (self._source.name(place), *path)
        elif parent.kind in _PASSING:
            yield path
        elif parent.kind in _NAMING:
            value, name = _NAMING[parent.kind]
            if parent.get(value) is place:
                yield from self._called(parent[name])
                yield ()
        else:
            rule = self._RULES.get(parent.kind)
            yield from () if rule is None else rule(self, parent, place, path)

    # Where the value goes

    def _pair(self, pair: Syntax, place: Syntax, path: Path) -> _Up:
        if pair["value"] is not place:
            return
        name = self._key(pair["key"])
        if name is not None:
            yield name
        if name is not None and name.lower() in _VALUES and pair.parent is not None:
            for other in pair.parent.children[:_MOST_SIBLINGS]:
                yield from self._text(other.get("value"))
        yield (Into.UNKNOWN if name is None else name, *path)

    def _array(self, array: Syntax, place: Syntax, path: Path) -> _Up:
        """An entry is a name and a value; so is an option and what follows it."""
        before = [child for child in array.children if child.index == place.index - 1]
        outer = wrapped(array).parent
        is_entry = len(array.children) == 2 and outer is not None and outer.kind == "array"  # noqa: PLR2004
        for name in self._text(before[0]) if before else ():
            if is_entry or name.startswith("-"):
                yield name
        yield (place.index, *path)

    def _ternary(self, node: Syntax, place: Syntax, path: Path) -> _Up:
        yield None if node.get("condition") is place else path

    def _binary(self, node: Syntax, place: Syntax, path: Path) -> _Up:
        left, right = node["left"], node["right"]
        other = left if right is place else right
        operator = set(node.tokens)
        if operator & (_COMPARING | _DEFAULTING):
            yield from self._called(other)
        if operator & {*_DEFAULTING, "&&"} or ("+" in operator and self._constant(other)):
            yield path

    def _assignment(self, node: Syntax, place: Syntax, path: Path) -> _Up:
        plain = node.kind == "assignment_expression"
        if node["right"] is place and (plain or _ASSIGNING & set(node.tokens)):
            yield from self._called(node["left"])
            yield path

    def _default(self, node: Syntax, place: Syntax, _path: Path) -> _Up:
        """``{ key: target = "v" }``, at any depth of the pattern."""
        if node.get("right") is not place:
            return
        yield from self._called(node["left"])
        for outer in node.ancestors():
            if outer.kind == "pair_pattern":
                yield self._key(outer["key"]) or ""
            elif outer.kind not in {"object_pattern", "array_pattern"}:
                return

    def _case(self, clause: Syntax, place: Syntax, _path: Path) -> _Up:
        switch = clause.parent.parent if clause.parent is not None else None
        if clause.get("value") is place and switch is not None:
            yield from self._called(switch["value"])

    def _template(self, template: Syntax, place: Syntax, _path: Path) -> _Up:
        inside = [
            one
            for one in template.children[:_MOST_SIBLINGS]
            if one.kind == place.kind and one is not place
        ]
        yield () if all(self._constant(child) for one in inside for child in one.children) else None

    def _member(self, member: Syntax, place: Syntax, path: Path) -> _Up:
        """Into the value, or a method of it that is called with nothing but constants."""
        if member.get("object") is not place:
            return
        key = member.get("property") or member.get("index")
        step = None if key is None else self._step(member, key)
        if (
            path
            and step is not None
            and (step in {path[0], Into.UNKNOWN} or path[0] is Into.UNKNOWN)
        ):
            yield path[1:]
        call = wrapped(member).parent
        if call is not None and call.get("function") is wrapped(member):
            given = arguments_of(call)
            if all(self._constant(one) or one.kind in FUNCTIONS for one in given):
                yield path

    def _call(self, call: Syntax, place: Syntax, path: Path) -> _Up:
        """Of a method (see `_member`) or a conversion (see `_arguments`)."""
        is_callee = place in {call.get("function"), call.get("constructor")}
        yield path if is_callee or place.kind == "arguments" else None

    def _arguments(self, arguments: Syntax, place: Syntax, path: Path) -> _Up:
        call = arguments.parent
        if call is None:
            return
        callee = call.get("function") or call.get("constructor")
        is_second = len(arguments.children) == 2 and place.index == 1  # noqa: PLR2004
        if is_second and method_of(self._source, call) in _SETTERS:
            yield from self._text(arguments.children[0])
        if callee is not None and self._source.text(callee) in _CONVERSIONS:
            yield path

    # What expressions are called

    def _called(self, node: Syntax) -> Iterator[str]:
        """What an expression that is no literal is called by its own text."""
        node = bare(node)
        if node.kind in MEMBERS:
            key = node.get("property") or node.get("index")
            name = None if key is None else self._step(node, key)
            yield name if isinstance(name, str) else ""
        elif node.kind == "call_expression":
            yield from self._called_result(node)
        elif node.kind == "binary_expression" and _DEFAULTING & set(node.tokens):
            yield from self._called(node["left"])
        elif node.kind in {"await_expression", "augmented_assignment_expression"}:
            yield from self._called(node.children[0])
        elif node.kind.endswith("identifier") or node.kind.endswith("identifier_pattern"):
            yield self._source.name(node)
        elif node.kind in {"string", "computed_property_name"}:
            yield self._key(node) or ""

    def _called_result(self, call: Syntax) -> Iterator[str]:
        """As ``password.trim()``, ``String(password)``, ``headers.get("password")`` are."""
        yield from self._called(call["function"])
        given = arguments_of(call)
        if method_of(self._source, call) is not None:
            yield from self._called(receiver_of(call))
        for argument in given[:1]:
            yield from self._text(argument)
            if self._source.text(call["function"]) in _CONVERSIONS:
                yield from self._called(argument)

    def _text(self, node: Syntax | None) -> Iterator[str]:
        text = None if node is None else string_value(self._source, bare(node))
        if text is not None:
            yield text

    def _key(self, key: Syntax) -> str | None:
        if key.kind == "computed_property_name" and key.children:
            return self._static(key.children[0])
        return key_name(self._source, key)

    def _step(self, member: Syntax, key: Syntax) -> Step:
        if member.kind == "member_expression":
            return key_name(self._source, key) or ""
        if key.kind == "number":
            value = literal(self._source, key)
            return value if isinstance(value, int) else Into.UNKNOWN
        name = self._static(key)
        return Into.UNKNOWN if name is None else name

    def _static(self, node: Syntax) -> str | None:
        """The text that an expression has, through one constant."""
        node = bare(node)
        binding = None if self._scopes is None else self._scopes.binding(node)
        if binding is not None and len(binding.definitions) == 1:
            node = bare(binding.definitions[0].value)
        return string_value(self._source, node)

    def _constant(self, node: Syntax) -> bool:
        """Whether the expression is made of nothing but literals."""
        node = bare(node)
        if node.kind == "binary_expression" and "+" in node.tokens:
            return self._constant(node["left"]) and self._constant(node["right"])
        if node.kind == "template_string":
            inside = [child for child in node.children if child.kind == "template_substitution"]
            return all(self._constant(child.children[0]) for child in inside if child.children)
        return node.kind == "regex" or literal(self._source, node) is not NOT_LITERAL

    _RULES: ClassVar[dict[str, Callable[["Naming", Syntax, Syntax, Path], _Up]]] = {
        "pair": _pair,
        "array": _array,
        "ternary_expression": _ternary,
        "binary_expression": _binary,
        "assignment_expression": _assignment,
        "augmented_assignment_expression": _assignment,
        "assignment_pattern": _default,
        "object_assignment_pattern": _default,
        "switch_case": _case,
        "template_string": _template,
        "member_expression": _member,
        "subscript_expression": _member,
        "call_expression": _call,
        "new_expression": _call,
        "arguments": _arguments,
    }


def _left(path: Path, taken: Path) -> Path | None:
    """What is left of a path into a value once ``taken`` is gone; None if it leads elsewhere."""
    for step in taken:
        if step is Into.UNKNOWN or step is Into.REST:
            return (Into.UNKNOWN,)
        if not path:
            return ()
        fits = step in {Into.ELEMENT, path[0]} or path[0] is Into.UNKNOWN
        if not fits:
            return None
        path = path[1:]
    return path[:_MOST_STEPS]
