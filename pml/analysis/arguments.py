"""Arguments of every call site: literal, reference, parameter or computed (SA-4).

A value that can be followed says itself what it is made of; for one that cannot, all results
count that may be in it.  What a program passes on is listed up to a number that grows with its
calls; where more flows, `Arguments.cut` says that the list is not whole.
"""

from collections.abc import Iterator, Mapping

from pml.analysis.calls import Site
from pml.analysis.functions import method_of, receiver_of
from pml.analysis.lifting import Lifts
from pml.analysis.literals import NOT_LITERAL, key_name, literal
from pml.analysis.origins import Tracer
from pml.analysis.patterns import Into, Path
from pml.analysis.phrasing import Keeping
from pml.analysis.scope import Scopes
from pml.analysis.syntax import Source, Syntax, bare, wrapped
from pml.analysis.taint import Taint
from pml.analysis.traces import UNSEEN, From, Origin, Origins
from pml.domain.structure import (
    SPREAD,
    Argument,
    Computed,
    FieldFlow,
    Literal,
    Parameter,
    Reference,
)

_FLOWS = 3_000
_FLOWS_PER_CALL = 4
"""So many flows are listed whatever the program; a variable that collects the results of n calls
and is passed to n others would have n * n of them."""
_MOST_FIELDS = 16
"""Parts of one result in the arguments of one call; more are not told apart."""
_WHOLE = ("", "")


class Arguments:
    """Classifies arguments; ``ids`` gives the node id of every site, in their order."""

    def __init__(
        self,
        source: Source,
        scopes: Scopes,
        *,
        tracer: Tracer,
        taint: Taint,
        ids: Mapping[Site, str],
        lifts: Lifts,
    ) -> None:
        self._source = source
        self._scopes = scopes
        self._tracer = tracer
        self._taint = taint
        self._ids = ids
        self._lifts = lifts
        self._keeping = Keeping(scopes)
        self._left = _FLOWS + _FLOWS_PER_CALL * len(ids)
        self._least = _FLOWS_PER_CALL
        self._rewritten = b"toJSON" in source.data
        """Whether the program may decide what is sent in place of a value."""
        self.cut = False
        """Whether more flows than is listed."""
        self.flows: dict[Site, dict[str, set[str]]] = {}
        """For every site the ids that feed it, and the arguments that each feeds."""
        self._fields: dict[Site, dict[str, set[tuple[str, str]]]] = {}

    def of(self, site: Site) -> dict[str, Argument]:
        """The arguments by name; `SPREAD` for what has no name in the code."""
        self.flows[site] = {}
        self._fields[site] = {}
        if site.call is None:
            return self._of_value(site)
        found: dict[str, Argument] = {}
        for name, expression, is_key in self._named(site.arguments):
            if is_key:
                self._noted(site, SPREAD, "", expression, self._tracer.trace(expression))
                continue
            argument = self._argument(site, name, expression)
            before = found.get(name)
            if name == SPREAD:
                found = {known: self._or(known, a, site) for known, a in found.items()}
                argument = argument if before is None else _joined(before, argument)
            found[name] = argument
        return {n: self._or(n, a, site) for n, a in found.items()} if self._rewritten else found

    def _or(self, name: str, argument: Argument, site: Site) -> Argument:
        """An argument in whose place something else may be sent."""
        if name == SPREAD or isinstance(argument, Computed):
            return argument
        inputs: tuple[Reference | Parameter, ...] = ()
        if not isinstance(argument, Literal):
            inputs = (argument,)
        elif argument.parameter_name is not None:
            inputs = (Parameter(parameter_name=argument.parameter_name),)
        member = _joined_path((name,))
        text = self._source.text(site.arguments[0])
        dot = "" if member.startswith("[") else "."
        return Computed(expression=f"({text}){dot}{member}", inputs=inputs)

    def fields(self, site: Site, producer: str) -> tuple[FieldFlow, ...]:
        """The parts of a result that flow into a call, where these can be told."""
        told = self._fields[site][producer]
        if not told or _WHOLE in told or len(told) > _MOST_FIELDS:
            return ()
        return tuple([FieldFlow(from_field=one, to_field=other) for one, other in sorted(told)])

    def _named(self, arguments: list[Syntax]) -> list[tuple[str, Syntax, bool]]:
        if len(arguments) != 1 or bare(arguments[0]).kind != "object":
            return [(SPREAD, a.children[0] if _is_spread(a) else a, False) for a in arguments]
        return list(_members(self._source, bare(arguments[0])))

    def _argument(self, site: Site, name: str, expression: Syntax) -> Argument:
        whole: list[Origin] = []
        start = "" if name == SPREAD else _joined_path((name,))
        leaves = list(self._leaves(expression, start))
        listed: list[Parameter] = []
        for place, leaf in leaves:
            origins = self._tracer.trace(leaf)
            names = self._lifts.names.get(bare(leaf), ())
            listed += [Parameter(parameter_name=one) for one in names]
            whole += self._noted(site, name, place, leaf, origins)
        origins = tuple(dict.fromkeys(whole))
        exact = len(leaves) == 1 and leaves[0][1] is expression
        return self._classify(expression, origins, tuple(listed), exact=exact)

    def _leaves(self, expression: Syntax, place: str) -> Iterator[tuple[str, Syntax]]:
        """The parts of nested object and array literals, with the way to each."""
        node = bare(expression)
        if node in self._lifts.names:
            yield place, expression
        elif node.kind == "object":
            for name, value, _is_key in _members(self._source, node):
                inner = place if name == SPREAD else _joined_path((name,), place)
                yield from self._leaves(value, inner)
        elif node.kind == "pair":
            yield place, node["key"]
            yield from self._leaves(node["value"], place)
        elif node.kind == "array" and not any(map(_is_spread, node.children)):
            for child in node.children:
                yield from self._leaves(child, _joined_path((child.index,), place))
        else:
            yield place, expression

    def _of_value(self, site: Site) -> dict[str, Argument]:
        """A tool that is handed on: called with what its receiver gives it."""
        given = wrapped(site.expression).parent
        call = None if given is None else given.parent
        if call is None or method_of(self._source, call) is None:
            self._noted(site, SPREAD, "", site.expression, (UNSEEN,))
            return {SPREAD: Computed(expression=self._source.text(site.expression))}
        receiver = receiver_of(call)
        origins = self._noted(site, SPREAD, "", receiver, (*self._tracer.trace(receiver), UNSEEN))
        text = self._source.text(receiver)
        return {SPREAD: Computed(expression=text, inputs=self._inputs(origins))}

    # What feeds it

    def _noted(
        self, site: Site, name: str, place: str, leaf: Syntax, origins: Origins
    ) -> list[Origin]:
        """The origins, with all results that may be there and were not seen; flows are noted."""
        found = [o for o in origins if o.kind is not From.UNSEEN]
        if len(found) < len(origins):
            found = self._all(site, leaf, found)
        flows, fields = self.flows[site], self._fields[site]
        for origin in found:
            producer = None if origin.site is None else self._ids.get(origin.site)
            if producer is None:
                continue
            if producer not in flows:
                flows[producer], fields[producer] = set(), set()
            flows[producer].add(name)
            if len(fields[producer]) <= _MOST_FIELDS:
                fields[producer].add((_joined_path(origin.path), place))
        return found

    def _all(self, site: Site, leaf: Syntax, seen: list[Origin]) -> list[Origin]:
        expressions = [] if leaf is site.expression else [leaf]
        bits = self._taint.sites(site, expressions)
        before = self._taint.order.before(site)
        found = [o for o in seen if o.site is None or self._taint.order.bit(o.site) & before]
        found = [Origin(o.kind, o.name, o.site, o.text, exact=False) for o in found]
        for origin in found:
            bits &= ~(self._taint.order.bit(origin.site) if origin.site is not None else 0)
        count = bits.bit_count()
        allowed = max(self._left, self._least)
        self._left -= min(count, allowed)
        self.cut = self.cut or count > allowed
        text = self._source.text(leaf)
        for _ in range(min(count, allowed)):
            last = bits.bit_length() - 1  # the latest are kept
            bits ^= 1 << last
            other = self._taint.order.site(last)
            found.append(Origin(From.CALL, "", other, text, False))
        return found

    # Kinds

    def _classify(
        self, expression: Syntax, origins: Origins, lifted: tuple[Parameter, ...], *, exact: bool
    ) -> Argument:
        value = literal(self._source, expression)
        if value is NOT_LITERAL:
            value = self._constant(bare(expression))
        if value is not NOT_LITERAL:
            names = self._lifts.names.get(bare(expression), ())
            return Literal(value=value, parameter_name=names[0] if len(names) == 1 else None)
        inputs = self._inputs(origins)
        if exact and len(inputs) == 1 and len(origins) == 1 and origins[0].exact:
            return inputs[0]
        every = tuple(dict.fromkeys((*inputs, *lifted))) if lifted else inputs
        return Computed(expression=self._source.text(expression), inputs=every)

    def _constant(self, node: Syntax) -> object:
        """The scalar that a name certainly stands for."""
        binding = self._scopes.binding(node)
        if binding is None or binding.kind == "parameter" or len(binding.definitions) != 1:
            return NOT_LITERAL
        if not self._keeping.keeps(binding) or not self._tracer.is_certain(binding, node):
            return NOT_LITERAL  # `n++`, or not set yet
        definition = binding.definitions[0]
        value = literal(self._source, definition.value)
        scalar = not definition.path and not isinstance(value, dict | list)
        return value if scalar else NOT_LITERAL

    def _inputs(self, origins: Origins | list[Origin]) -> tuple[Reference | Parameter, ...]:
        found = [made for origin in origins if (made := self._input(origin)) is not None]
        return tuple(dict.fromkeys(found))

    def _input(self, origin: Origin) -> Reference | Parameter | None:
        if origin.kind is From.INPUT:
            return Parameter(parameter_name=origin.name)
        if origin.site is not None and origin.site in self._ids:
            return Reference(expression=origin.text, node=self._ids[origin.site])
        return None


def _members(source: Source, node: Syntax) -> Iterator[tuple[str, Syntax, bool]]:
    """What stands in an object literal, by name; `SPREAD` where that is not known.

    The last says whether it is a key that is computed.
    """
    for child in node.children:
        name: str | None = None
        value = child
        if child.kind == "pair":
            name, value = key_name(source, child["key"]), child["value"]
            if name == "__proto__" and child["key"].kind != "computed_property_name":
                yield SPREAD, value, True  # it is not sent, but may decide what is
                continue
            if name is None:
                value = child
        elif child.kind == "shorthand_property_identifier":
            name = source.name(child)
        elif _is_spread(child):
            value = child.children[0]
            if bare(value).kind == "object":
                yield from _members(source, bare(value))
                continue
        elif child.kind == "method_definition":
            name = key_name(source, child["name"])
        yield SPREAD if name is None else name, value, False


def _is_spread(node: Syntax) -> bool:
    return node.kind == "spread_element" and bool(node.children)


def _joined_path(path: Path, start: str = "") -> str:
    """A way into a value as text: ``items[0].id``."""
    text = start
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step is Into.ELEMENT:
            text += "[*]"
        elif isinstance(step, str) and step.isidentifier():
            text += f".{step}" if text else step
        else:
            quoted = str(step).replace("\\", "\\\\").replace('"', '\\"')
            text += f'["{quoted}"]'
    return text


def _joined(first: Argument, second: Argument) -> Argument:
    """Two things without a name in one argument object."""
    expressions: list[str] = []
    inputs: list[Reference | Parameter] = []
    for one in (first, second):
        if isinstance(one, Computed):
            expressions.append(one.expression)
            inputs.extend(one.inputs)
        elif isinstance(one, Literal):
            expressions.append(str(one.value))
        else:
            expressions.append(one.parameter_name if isinstance(one, Parameter) else one.expression)
            inputs.append(one)
    return Computed(expression=", ".join(expressions), inputs=tuple(dict.fromkeys(inputs)))
