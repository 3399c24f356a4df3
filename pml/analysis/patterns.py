"""Patterns: what they take out of a value, by what path, and which names then hold it."""

from collections.abc import Iterator

from pml.analysis.kinds import Identified
from pml.analysis.literals import key_name
from pml.analysis.syntax import Source, Syntax

TARGET_NAMES = ("identifier", "shorthand_property_identifier_pattern")
"""Kinds of names that are declared or assigned."""


class Into(Identified):
    """Steps of a path into a value that are neither a property name nor an index."""

    ELEMENT = "some element"
    REST = "what is left over"
    UNKNOWN = "something made from it"


Step = str | int | Into
Path = tuple[Step, ...]


def parameters(function: Syntax) -> list[tuple[int, Syntax]]:
    """The patterns of a function's parameters with their positions."""
    single = function.get("parameter")
    if single is not None:
        return [(0, single)]
    listed = function.get("parameters")
    children = [] if listed is None else listed.children
    return list(enumerate(child for child in children if not _is_this(child)))


def _is_this(parameter: Syntax) -> bool:
    """``this: T``, which is only a type."""
    pattern = parameter.get("pattern")
    return pattern is not None and pattern.kind == "this"


def pattern_names(source: Source, pattern: Syntax) -> Iterator[tuple[Syntax, Path, Syntax | None]]:
    """Targets of a pattern: the name or member, the path to its value, its default."""
    stack: list[tuple[Syntax, Path, Syntax | None]] = [(pattern, (), None)]
    while stack:
        node, path, default = stack.pop()
        kind = node.kind
        if kind in {"object_pattern", "array_pattern"}:
            inside = [(child, (*path, _step(source, node, child)), None) for child in node.children]
            stack.extend(reversed(inside))
        elif kind == "pair_pattern":
            stack.append((node["value"], path, default))
        elif kind in {"object_assignment_pattern", "assignment_pattern"}:
            stack.append((node["left"], path, node.get("right")))
        elif kind in {"required_parameter", "optional_parameter"} and "pattern" in node.fields:
            stack.append((node["pattern"], path, node.get("value")))
        elif kind == "rest_pattern" and node.children:
            stack.append((node.children[0], path, default))
        else:
            yield node, path, default


def _step(source: Source, pattern: Syntax, child: Syntax) -> Step:
    """How the value of a child of a pattern is reached from the whole."""
    if child.kind == "rest_pattern":
        return Into.REST
    if pattern.kind == "array_pattern":
        return child.index
    if child.kind == "object_assignment_pattern":
        child = child["left"]
    name = key_name(source, child["key"] if child.kind == "pair_pattern" else child)
    return Into.UNKNOWN if name is None else name


def assigned_base(target: Syntax) -> tuple[Syntax | None, bool]:
    """The variable that an assignment changes, and whether it changes only a part of it."""
    partial = False
    while target.kind in {"member_expression", "subscript_expression", "non_null_expression"}:
        target = target.children[0]
        partial = True
    if target.kind == "parenthesized_expression" and target.children:
        return assigned_base(target.children[0])
    return (target, partial) if target.kind in TARGET_NAMES else (None, partial)


def computed_keys(target: Syntax) -> Iterator[Syntax]:
    """What computes the names of the properties that a target sets."""
    while target.kind in {"member_expression", "subscript_expression", "non_null_expression"}:
        if "index" in target.fields and target["index"].kind not in {"string", "number"}:
            yield target["index"]
        target = target.children[0]
