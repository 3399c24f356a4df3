"""The canonical form: equal texts for equal procedures; its SHA-256 is the identity (SA-8).

One walk over the tree writes it down without what does not matter:

- names that the program declares (variables, functions, parameters, classes, labels) are
  numbers, in order of first occurrence in the walk; free names and properties stay;
- inputs stay too: their names are the interface by which the procedure is run.  As a variable
  and as ``args.x`` an input is the same, unless the program may set one;
- a lifted literal is a hole, so its value does not matter; what it is passed as does, and what
  its parameter is called.  Holes and inputs are never the same: an input has no default;
- spelling is gone: layout, comments, types, quotes, escapes, number formats, ``o["x"]`` for
  ``o.x``, shorthand, a template without substitutions, parentheses but those that end an
  optional chain;
- the pairs of an object that is passed to a tool are in order of their keys where nobody can
  tell (`pml.analysis.purity`);
- a capability is its id, however the code gets at it.

Everything else is written as it stands: kinds of nodes, operators, keywords, order.  Numbering
bound names by first occurrence decides equality up to renaming, as de Bruijn's indices do
("Lambda calculus notation with nameless dummies", Indag. Math. 34, 1972); numbers that count
occurrences instead of binders are enough where every binding has one declaration.  Two programs
that do the same in different ways stay different: the form is sound, not complete.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from pml.analysis.calls import Calls, Handle, Kind
from pml.analysis.inputs import Inputs, writes_an_input
from pml.analysis.lifting import Lifted
from pml.analysis.numbered import Numbered
from pml.analysis.patterns import pattern_names
from pml.analysis.phrasing import (
    MAYBE_NOTHING,
    SAME_KIND,
    STATEMENTS_WITH_BODIES,
    Keeping,
    is_body,
    is_empty,
    only_statement,
    result_of_body,
    returned,
    said,
    says_nothing,
    sent,
)
from pml.analysis.purity import unordered
from pml.analysis.scope import Scopes
from pml.analysis.spelling import ends_chain, static_key, static_text
from pml.analysis.syntax import MEMBERS, Source, Syntax, bare
from pml.analysis.written import Written

_VERSION = "pml canonical form 4"
_MEMBER_DEFINITIONS = frozenset({"method_definition", "public_field_definition"})
_READING = MEMBERS | {"identifier", "shorthand_property_identifier"}
"""Reads of an input that are one expression; a pattern is written as it stands."""


def canonical_hash(
    source: Source,
    scopes: Scopes,
    calls: Calls,
    *,
    read: Inputs,
    lifted: tuple[Lifted, ...],
    capability_ids: Mapping[str, str],
) -> str:
    """SHA-256 of the canonical form, as hex; ``capability_ids`` are by the names in the code."""
    form = _Form(source, scopes, calls, read=read, lifted=lifted, capability_ids=capability_ids)
    form.visit(source.root)
    return hashlib.sha256("\n".join((_VERSION, *form.parts)).encode()).hexdigest()


class _Form(Written):
    """Writes every construct, the ones that need no care as they stand."""

    def __init__(
        self,
        source: Source,
        scopes: Scopes,
        calls: Calls,
        *,
        read: Inputs,
        lifted: tuple[Lifted, ...],
        capability_ids: Mapping[str, str],
    ) -> None:
        super().__init__(source, scopes)
        self._calls = calls
        self._lifted = {one.node: one.name for one in lifted}
        may_change = read.whole or writes_an_input(source, read.places)
        self._inputs = {} if may_change else read.places
        self._capability_ids = capability_ids
        self._unordered = unordered(source, calls, read)
        self._keeping = Keeping(scopes)

    def visit(self, node: Syntax) -> None:
        """Write one node."""
        if node in self._lifted:
            self.text("hole", self._lifted[node])
            return
        node = bare(node)
        kind = node.kind
        if kind in _READING and node in self._inputs:
            self.text("input", self._inputs[node])
            return
        write = self._WRITERS.get(kind)
        if write is None:
            self._plain(node)
        else:
            write(self, node)

    def _plain(self, node: Syntax) -> None:
        """Kind, tokens and children as they stand."""
        kind = node.kind
        self.open(SAME_KIND.get(kind, kind), *(self._kept(node) if node.tokens else ()))
        roles = {child: role for role, child in node.fields.items()}
        for child in node.children:
            if child.kind in MAYBE_NOTHING and says_nothing(node, child):
                continue
            role = roles.get(child)
            if role is not None:
                self.parts.append(f"{role}:")
            if kind in STATEMENTS_WITH_BODIES and is_body(node, role):
                self._body(child)
            elif role == "name" and kind in _MEMBER_DEFINITIONS:
                self._defined(node, child)
            else:
                self.visit(child)
        self.close()

    def _kept(self, node: Syntax) -> Iterable[str]:
        """The tokens that say something."""
        kept = said(node)
        if "let" in kept and self._keeping.is_constant(node, self.source):
            kept = ["const" if word == "let" else word for word in kept]
        return kept

    def _body(self, node: Syntax) -> None:
        """The statement of a branch or loop: in a block or not."""
        if is_empty(node):
            self.parts.append("nothing")
        else:
            self.visit(only_statement(node))

    def _return(self, node: Syntax) -> None:
        self.open("return")
        for child in returned(self.source, self.scopes, node):
            self.visit(child)
        self.close()

    def _defined(self, node: Syntax, name: Syntax) -> None:
        """The key of a method or field; in a class a computed one stays so."""
        in_class = node.parent is not None and node.parent.kind == "class_body"
        if in_class and name.kind == "computed_property_name":
            self.visit(name)
        else:
            self._key(name)

    # Keys and members

    def _key(self, node: Syntax) -> None:
        """A property's key: by the string that it is, or as an expression."""
        name = static_key(self.source, node)
        if name is None:
            self.visit(node)
        else:
            self.text("key", name)

    def _member(self, node: Syntax) -> None:
        optional = "optional_chain" in node.fields or "?." in node.tokens
        self.open("member", *["?."] * optional)
        self._owner(node["object"])
        key = node.get("property") or node.get("index")
        capability = self._capability(self._calls.handle(node)) if self._capability_ids else None
        if key is None:
            pass
        elif capability is not None:
            self.text("capability", capability)
        elif key.kind == "private_property_identifier":
            self.text("private", self.source.name(key))
        elif node.kind == "subscript_expression" and static_text(self.source, bare(key)) is None:
            self.visit(key)
        else:
            self._key(key)
        self.close()

    def _capability(self, handle: Handle | None) -> str | None:
        """The id of the capability that something stands for."""
        if handle is None or handle.kind is not Kind.CAPABILITY:
            return None
        return self._capability_ids.get(handle.name or "")

    def _owner(self, node: Syntax) -> None:
        """The object of a member or the function of a call: parentheses end its chain."""
        if ends_chain(node):
            self.parts.append("chain ends")
        self.visit(node)

    def _call(self, node: Syntax) -> None:
        self.open(node.kind, *["?."] * ("optional_chain" in node.fields or "?." in node.tokens))
        self._owner(node.get("function") or node["constructor"])
        given = node.get("arguments")
        if given is not None and given.kind == "template_string":
            self.template(given, tagged=True)
        else:
            for child in sent(self._calls, node):
                self.visit(child)
        self.close()

    # Arrays and objects

    def _object(self, node: Syntax) -> None:
        self.open("object")
        children = node.children
        if node in self._unordered:
            children = sorted(
                children, key=lambda child: static_key(self.source, _key_of(child)) or ""
            )
        for child in children:
            if child.kind == "pair":
                self._pair(child)
            elif child.kind == "shorthand_property_identifier":
                self.open("pair")
                self.text("key", self.source.name(child))
                self.visit(child)
                self.close()
            else:
                self.visit(child)
        self.close()

    def _pair(self, node: Syntax) -> None:
        key = node["key"]
        sets_prototype = key.kind != "computed_property_name" and (
            static_key(self.source, key) == "__proto__"
        )
        self.open("prototype" if sets_prototype else "pair")
        self._key(key)
        self.visit(node["value"])
        self.close()

    # Patterns and functions

    def _object_pattern(self, node: Syntax) -> None:
        self.open("object pattern")
        for child in node.children:
            if child.kind == "rest_pattern":
                self._plain(child)
            else:
                self._pattern_pair(child)
        self.close()

    def _pattern_pair(self, node: Syntax) -> None:
        """``{ a }``, ``{ a = 1 }`` and ``{ a: b }`` alike: key, then target."""
        key = node.get("key") or node.get("left") or node
        self.open("pair")
        capability = self._capability(self._handed(node))
        if capability is None:
            self._key(key)
        else:
            self.text("capability", capability)
        if node.kind == "shorthand_property_identifier_pattern":
            self.name(node)
        else:
            self.visit(node["value"]) if node.kind == "pair_pattern" else self._plain(node)
        self.close()

    def _handed(self, pair: Syntax) -> Handle | None:
        """What a pattern takes out here, if it gives it a name at once."""
        if not self._capability_ids:
            return None
        target, path, _default = next(pattern_names(self.source, pair), (pair, ("",), None))
        return None if path else self._calls.named(target)

    def _parameters_of(self, node: Syntax) -> None:
        self.open("parameters")
        for child in node.children:
            pattern = child.get("pattern")
            if pattern is not None and pattern.kind == "this":
                continue
            if pattern is not None and pattern.start > child.start:
                self.text("and property", self.source.name(pattern))  # `private x`
            self.visit(child)
        self.close()

    def _parameter_of(self, node: Syntax) -> None:
        pattern, default = node.get("pattern"), node.get("value")
        if pattern is None or default is None:
            self.visit(pattern) if pattern is not None else self._plain(node)
            return
        self.open("assignment_pattern", "=")
        for role, child in (("left", pattern), ("right", default)):
            self.parts.append(f"{role}:")
            self.visit(child)
        self.close()

    def _arrow(self, node: Syntax) -> None:
        self.open("arrow_function", *(t for t in node.tokens if t == "async"))
        single = node.get("parameter")
        if single is None:
            self.visit(node["parameters"])
        else:
            self.open("parameters")
            self.visit(single)
            self.close()
        self.visit(result_of_body(self.source, self.scopes, node))
        self.close()

    # What only its place tells

    def _assignment(self, node: Syntax) -> None:
        if node["left"].kind == "parenthesized_expression":
            self.parts.append("unnamed")  # a function that is assigned gets no name
        self._plain(node)

    _WRITERS: ClassVar[dict[str, Callable[["_Form", Syntax], None]]] = {
        "identifier": Numbered.name,
        "type_identifier": Numbered.name,
        "shorthand_property_identifier": Numbered.name,
        "shorthand_property_identifier_pattern": Numbered.name,
        "property_identifier": _key,
        "private_property_identifier": Written.spelled,
        "statement_identifier": Numbered.label,
        "labeled_statement": Written.labelled,
        "member_expression": _member,
        "subscript_expression": _member,
        "call_expression": _call,
        "new_expression": _call,
        "string": Written.string,
        "template_string": Written.template,
        "number": Written.number,
        "regex_pattern": Written.spelled,
        "regex_flags": Written.spelled,
        "array": Written.array,
        "array_pattern": Written.array,
        "object": _object,
        "object_pattern": _object_pattern,
        "formal_parameters": _parameters_of,
        "required_parameter": _parameter_of,
        "optional_parameter": _parameter_of,
        "arrow_function": _arrow,
        "return_statement": _return,
        "update_expression": Written.update,
        "assignment_expression": _assignment,
    }


def _key_of(member: Syntax) -> Syntax:
    return member.get("key") or member
