"""The program's inputs: which names it reads from outside, and which of them it can do without."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pml.analysis.globals import ABSENT, ARGS, STANDARD
from pml.analysis.literals import NOT_LITERAL, key_name, literal
from pml.analysis.patterns import pattern_names
from pml.analysis.scope import Scopes
from pml.analysis.syntax import MEMBERS, Source, Syntax, bare, wrapped

_COPING = frozenset({"??", "||", "&&", "!", "typeof", "??=", "||=", "===", "!==", "==", "!="})
"""Operators that code uses on a value that may be absent."""
_OF_EVERY_OBJECT = frozenset(
    {"hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"}
    | {"toLocaleString", "toString", "valueOf"}
)
"""Methods of ``Object.prototype``: called on ``args`` they are no inputs and may read any."""
_WRITING = ("assignment_expression", "augmented_assignment_expression", "for_in_statement")
_CONDITIONS = frozenset({"if_statement", "ternary_expression", "while_statement"})


@dataclass(frozen=True, slots=True)
class _Use:
    """One place that reads an input; ``names`` are what then stands for it."""

    node: Syntax
    name: str
    names: tuple[Syntax, ...] = ()
    has_default: bool = False


@dataclass(frozen=True, slots=True)
class Inputs:
    """Names of inputs in order of first use.

    ``variables`` are read as variables, ``optional`` are used in a way that copes without
    them, ``whole`` says that ``args`` itself is used, so that every name in it may matter.
    ``places`` are all reads, each the whole of ``args.x``, with what they read.  ``defaults`` are
    the literals that the code takes where an input is absent, if it takes the same everywhere.
    """

    names: tuple[str, ...]
    variables: tuple[str, ...]
    optional: tuple[str, ...]
    whole: bool
    places: Mapping[Syntax, str]
    defaults: Mapping[str, Any]


def inputs(source: Source, scopes: Scopes) -> Inputs:
    """What the source reads from outside."""
    uses: list[_Use] = []
    variables: list[str] = []
    for name, nodes in scopes.free.items():
        if name not in STANDARD and name not in ABSENT:
            variables.append(name)
            uses += [_Use(node, name) for node in nodes]
    whole = False
    for node in scopes.free.get(ARGS, ()):
        found = _read_from(source, node)
        whole = whole or found is None
        uses += found or []
    uses.sort(key=lambda use: use.node.start)
    return Inputs(
        names=tuple(dict.fromkeys(use.name for use in uses)),
        variables=tuple(dict.fromkeys(u.name for u in uses if u.name in set(variables))),
        optional=tuple(dict.fromkeys(use.name for use in uses if _copes(use, scopes))),
        whole=whole,
        places={use.node: use.name for use in uses},
        defaults=_defaults(source, scopes, uses),
    )


def first_use(source: Source, scopes: Scopes, name: str) -> Syntax | None:
    """Where the source first reads the input."""
    places = list(scopes.free.get(name, ()))
    for node in scopes.free.get(ARGS, ()):
        places += [use.node for use in _read_from(source, node) or () if use.name == name]
    return min(places, key=lambda node: node.start, default=None)


def _read_from(source: Source, node: Syntax) -> list[_Use] | None:
    """What one use of ``args`` reads; None if it is used as a whole."""
    place = wrapped(node)
    parent = place.parent
    if parent is None:
        return None
    if parent.kind in MEMBERS and parent.get("object") is place:
        key = parent.get("property") or parent["index"]
        is_known = key.kind in {"property_identifier", "string"}
        name = key_name(source, key) if is_known else None
        as_a_whole = name is None or (name in _OF_EVERY_OBJECT and _is_called(parent))
        return None if as_a_whole else [_Use(parent, name or "")]
    if parent.kind == "variable_declarator" and parent["name"].kind == "object_pattern":
        return _destructured(source, parent["name"])
    return None


def _is_called(member: Syntax) -> bool:
    callee = wrapped(member)
    return callee.parent is not None and callee.parent.get("function") is callee


def _destructured(source: Source, pattern: Syntax) -> list[_Use] | None:
    uses: list[_Use] = []
    for child in pattern.children:
        if child.kind == "rest_pattern":
            return None
        key = child.get("key") or child.get("left") or child
        name = key_name(source, key)
        if name is None:
            return None
        targets = list(pattern_names(source, child))
        has_default = any(default is not None for _target, _path, default in targets)
        uses.append(_Use(child, name, tuple(t for t, _path, _default in targets), has_default))
    return uses


def _copes(use: _Use, scopes: Scopes) -> bool:
    """Whether the code is written for the case that the input is absent."""
    if use.has_default or _is_checked(use.node):
        return True
    return any(map(_is_checked, _read_again(use, scopes)))


def _defaults(source: Source, scopes: Scopes, uses: list[_Use]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for use in uses:
        literals = [
            literal(source, default)
            for target, _path, default in pattern_names(source, use.node)
            if default is not None and target in use.names
        ]
        literals += [_instead(source, node) for node in _read_again(use, scopes)]
        found.setdefault(use.name, []).extend(v for v in literals if v is not NOT_LITERAL)
    return {name: v[0] for name, v in found.items() if v and all(_same(v[0], o) for o in v)}


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _instead(source: Source, node: Syntax) -> Any:  # noqa: ANN401  # any JSON
    """The literal that stands for a value that is absent: ``x ?? 1``, ``x || 1``, ``x ??= 1``."""
    place = wrapped(node)
    parent = place.parent
    if parent is None or parent.get("left") is not place or len(parent.children) != 2:  # noqa: PLR2004
        return NOT_LITERAL
    if not {"??", "||", "??=", "||="} & set(parent.tokens):
        return NOT_LITERAL
    return literal(source, parent["right"])


def _read_again(use: _Use, scopes: Scopes) -> list[Syntax]:
    """The place that reads an input, and those that use the variable that it is given to."""
    names = list(use.names)
    parent = wrapped(use.node).parent
    if parent is not None and parent.kind == "variable_declarator":
        names.append(parent["name"])
    bindings = [scopes.targets[name] for name in names if name in scopes.targets]
    return [use.node, *(later for binding in bindings for later in binding.uses)]


def _is_checked(node: Syntax) -> bool:
    place = wrapped(node)
    parent = place.parent
    if parent is None:
        return False
    if parent.get("object") is place and "optional_chain" in parent.fields:
        return True
    is_condition = parent.get("condition") in {place, node}
    if parent.kind in _CONDITIONS and is_condition:
        return True
    return parent.get("right") is not place and bool(_COPING & set(parent.tokens))


def writes_an_input(source: Source, places: Mapping[Syntax, str]) -> bool:
    """Whether the program sets something that it also gets from outside."""
    targets = [node["left"] for node in source.of_kinds(*_WRITING)]
    targets += [node["argument"] for node in source.of_kinds("update_expression")]
    targets += [
        node["argument"] for node in source.of_kinds("unary_expression") if "delete" in node.tokens
    ]
    return any(
        bare(target) in places
        for pattern in targets
        for target, _path, _default in pattern_names(source, pattern)
    )
