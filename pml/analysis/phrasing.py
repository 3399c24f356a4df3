"""Ways to say the same thing that the canonical form does not tell apart (SA-8).

Each is the same at run time for every program, so that nothing else has to be looked at.
"""

from pml.analysis.calls import Calls, Kind
from pml.analysis.patterns import pattern_names
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import Source, Syntax, bare, function_of, wrapped

_OWN_SCOPE = frozenset(
    {
        "lexical_declaration",
        "class_declaration",
        "abstract_class_declaration",
        "enum_declaration",
        "function_declaration",
        "generator_function_declaration",
    }
)
"""What lives in the block around it."""
_BODIES = {
    "if_statement": ("consequence",),
    "for_statement": ("body",),
    "for_in_statement": ("body",),
    "while_statement": ("body",),
    "do_statement": ("body",),
}
SAME_KIND = {
    "optional_parameter": "required_parameter",
    "abstract_class_declaration": "class_declaration",
    "shorthand_property_identifier_pattern": "identifier",
    "object_assignment_pattern": "assignment_pattern",
}
"""Kinds of nodes that are one for whoever runs them."""
_LISTS = frozenset(
    {"program", "statement_block", "switch_case", "switch_default", "class_static_block"}
)
"""Where an empty statement is nothing but a semicolon."""
MAYBE_NOTHING = frozenset({"empty_statement", "class_heritage"})
"""What may say nothing."""
_OF_TYPES = {
    "variable_declarator": {"!", "="},
    "public_field_definition": {"!", "?", "readonly"},
    "method_definition": {"?"},
    "optional_parameter": {"?", "="},
    "required_parameter": {"="},
    "abstract_class_declaration": {"abstract"},
}
"""Tokens that say nothing at run time, or nothing that the children do not say."""
STATEMENTS_WITH_BODIES = frozenset({*_BODIES, "else_clause"})


def said(node: Syntax) -> list[str]:
    """The operators and keywords of a node that say something."""
    dropped = _OF_TYPES.get(node.kind, ())
    return [token for token in node.tokens if token not in dropped]


def says_nothing(parent: Syntax, child: Syntax) -> bool:
    """Whether it is only a semicolon, or only interfaces."""
    if child.kind == "empty_statement":
        return parent.kind in _LISTS
    return not child.children


def only_statement(node: Syntax) -> Syntax:
    """What a block around a single statement holds, if the block adds nothing to it.

    ``if (a) b()`` is ``if (a) { b() }``.
    """
    while node.kind == "statement_block":
        inside = [child for child in node.children if child.kind != "empty_statement"]
        if len(inside) != 1 or inside[0].kind in _OWN_SCOPE or _is_using(inside[0]):
            break
        node = inside[0]
    return node


def _is_using(statement: Syntax) -> bool:
    return any("using" in child.tokens for child in statement.children)


def is_body(parent: Syntax, role: str | None) -> bool:
    """Whether a block may be a single statement there."""
    return parent.kind == "else_clause" or role in _BODIES.get(parent.kind, ())


def is_empty(node: Syntax) -> bool:
    """Whether the statement does nothing: ``;`` or ``{}``."""
    return node.kind == "empty_statement" or (
        node.kind == "statement_block"
        and all(child.kind == "empty_statement" for child in node.children)
    )


def returned(source: Source, scopes: Scopes, statement: Syntax) -> list[Syntax]:
    """What a ``return`` gives; nothing for ``return undefined``, but where that waits a turn."""
    given = statement.children
    if len(given) != 1 or "generator" in function_of(statement).kind:
        return given
    if _is_generator_method(statement):
        return given
    return [] if _is_undefined(source, scopes, given[0]) else given


def _is_generator_method(statement: Syntax) -> bool:
    return "*" in function_of(statement).tokens


def _is_undefined(source: Source, scopes: Scopes, expression: Syntax) -> bool:
    node = bare(expression)
    if node.kind not in {"undefined", "identifier"} or source.text(node) != "undefined":
        return False
    return scopes.lookup("undefined", node) is None


def result_of_body(source: Source, scopes: Scopes, arrow: Syntax) -> Syntax:
    """The body of an arrow function; the expression where it does nothing but return one."""
    body = arrow["body"]
    inside = [child for child in body.children if child.kind != "empty_statement"]
    if body.kind != "statement_block" or len(inside) != 1:
        return body
    only = inside[0]
    given = returned(source, scopes, only) if only.kind == "return_statement" else []
    return given[0] if given else body


class Keeping:
    """Which variables keep the value of their declaration."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes

    def keeps(self, binding: Binding) -> bool:
        """Whether only its declaration sets it."""
        return self._scopes.times_set[binding] == 1 and not any(map(_is_counted, binding.uses))

    def is_constant(self, declaration: Syntax, source: Source) -> bool:
        """Whether a ``let`` may be a ``const``: all its variables have values and keep them.

        The other way round is not the same: a ``const`` that is set again fails.
        """
        if "let" not in declaration.tokens:
            return False
        parts = [declaration] if declaration.kind == "for_in_statement" else declaration.children
        for part in parts:
            pattern = part.get("left") or part.get("name")
            if pattern is None or (part.kind != "for_in_statement" and "value" not in part.fields):
                return False
            for target, _path, _default in pattern_names(source, pattern):
                binding = self._scopes.targets.get(target)
                if binding is None or not self.keeps(binding):
                    return False
        return True


def _is_counted(use: Syntax) -> bool:
    parent = wrapped(use).parent
    return parent is not None and parent.kind == "update_expression"


def sent(calls: Calls, call: Syntax) -> list[Syntax]:
    """The arguments of a call; none for a tool's ``{}``, which is what it sends anyway."""
    given = call.get("arguments")
    arguments = [] if given is None else given.children
    site = calls.by_node.get(call)
    is_plain = "optional_chain" not in call.fields and "?." not in call.tokens
    if (
        site is not None
        and is_plain
        and (site.handle.kind, site.handle.certain) == (Kind.TOOL, True)
        and len(arguments) == 1
        and bare(arguments[0]).kind == "object"
        and not bare(arguments[0]).children
    ):
        return []
    return arguments
