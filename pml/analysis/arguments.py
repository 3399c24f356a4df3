"""Arguments of every call site: literal, reference, parameter or computed (SA-4)."""

from collections.abc import Mapping

from pml.analysis.calls import Site
from pml.analysis.functions import method_of, receiver_of
from pml.analysis.literals import NOT_LITERAL, key_name, literal
from pml.analysis.origins import From, Origin, Origins, Tracer
from pml.analysis.scope import Scopes
from pml.analysis.syntax import Source, Syntax, bare
from pml.domain.structure import SPREAD, Argument, Computed, Literal, Parameter, Reference


class Arguments:
    """Classifies arguments; ``ids`` gives the node id of every site."""

    def __init__(
        self, source: Source, scopes: Scopes, tracer: Tracer, ids: Mapping[Site, str]
    ) -> None:
        self._source = source
        self._scopes = scopes
        self._tracer = tracer
        self._ids = ids
        self.flows: dict[Site, dict[str, set[str]]] = {}
        """For every site the ids that feed it, and the arguments that each feeds."""

    def of(self, site: Site) -> dict[str, Argument]:
        """The arguments by name; `SPREAD` for what has no name in the code."""
        self.flows[site] = {}
        if site.call is None:
            return self._of_value(site)
        found: dict[str, Argument] = {}
        for name, expression in self._named(site.arguments):
            origins = self._tracer.trace(expression)
            self._note(site, name, origins)
            argument = self._classify(expression, origins)
            known = found.get(name)
            found[name] = argument if known is None or name != SPREAD else _joined(known, argument)
        return found

    def _named(self, arguments: list[Syntax]) -> list[tuple[str, Syntax]]:
        if len(arguments) != 1 or bare(arguments[0]).kind != "object":
            return [(SPREAD, a.children[0] if _is_spread(a) else a) for a in arguments]
        named: list[tuple[str, Syntax]] = []
        for child in bare(arguments[0]).children:
            name: str | None = None
            value = child
            if child.kind == "pair":
                name, value = key_name(self._source, child["key"]), child["value"]
            elif child.kind == "shorthand_property_identifier":
                name = self._source.name(child)
            elif _is_spread(child):
                value = child.children[0]
            elif child.kind == "method_definition":
                name = key_name(self._source, child["name"])
            named.append((SPREAD if name is None else name, value))
        return named

    def _of_value(self, site: Site) -> dict[str, Argument]:
        """A tool that is handed on: called with what its receiver gives it."""
        call = site.expression.parent.parent if site.expression.parent is not None else None
        if call is None or method_of(self._source, call) is None:
            return {SPREAD: Computed(expression=self._source.text(site.expression))}
        receiver = receiver_of(call)
        origins = self._tracer.trace(receiver)
        self._note(site, SPREAD, origins)
        text = self._source.text(receiver)
        return {SPREAD: Computed(expression=text, inputs=self._inputs(origins))}

    def _note(self, site: Site, name: str, origins: Origins) -> None:
        for origin in origins:
            if origin.site is not None and origin.site in self._ids:
                self.flows[site].setdefault(self._ids[origin.site], set()).add(name)

    def _classify(self, expression: Syntax, origins: Origins) -> Argument:
        value = literal(self._source, expression)
        if value is NOT_LITERAL:
            value = self._constant(bare(expression))
        if value is not NOT_LITERAL:
            return Literal(value=value)
        inputs = self._inputs(origins)
        if len(inputs) == 1 and len(origins) == 1 and origins[0].exact:
            return inputs[0]
        return Computed(expression=self._source.text(expression), inputs=inputs)

    def _constant(self, node: Syntax) -> object:
        """The scalar that a name certainly stands for."""
        binding = self._scopes.binding(node)
        if binding is None or binding.kind == "parameter" or len(binding.definitions) != 1:
            return NOT_LITERAL
        definition = binding.definitions[0]
        value = literal(self._source, definition.value)
        scalar = not definition.path and not isinstance(value, dict | list)
        return value if scalar else NOT_LITERAL

    def _inputs(self, origins: Origins) -> tuple[Reference | Parameter, ...]:
        found = [made for origin in origins if (made := self._input(origin)) is not None]
        return tuple(dict.fromkeys(found))

    def _input(self, origin: Origin) -> Reference | Parameter | None:
        if origin.kind is From.INPUT:
            return Parameter(parameter_name=origin.name)
        if origin.site is not None and origin.site in self._ids:
            return Reference(expression=origin.text, node=self._ids[origin.site])
        return None


def _is_spread(node: Syntax) -> bool:
    return node.kind == "spread_element" and bool(node.children)


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
