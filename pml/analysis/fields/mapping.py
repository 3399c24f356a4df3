"""From fields to edges: which inputs of one tool another can provide for (SA-10)."""

from collections.abc import Collection, Iterable, Sequence

from pml.analysis.fields.extract import Field, Origin, Signature, signature
from pml.analysis.fields.features import anchors
from pml.analysis.fields.match import THRESHOLD, score
from pml.domain.provides import FieldMapping, ProvidesEdge
from pml.domain.structure import Coverage
from pml.domain.tools import Tool

_DIGITS = 4
"""Of a score that is kept: a sum in another order must not make another edge."""


class Side:
    """A tool, read once for all comparisons with others."""

    __slots__ = ("by_anchor", "consumes", "id", "signature", "tool")

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.id = tool.id
        self.signature: Signature = signature(tool)
        self.by_anchor: dict[str, list[int]] = {}
        """Outputs by what a comparable input shares with them."""
        for number, output in enumerate(self.signature.outputs):
            for anchor in anchors(output.shape.words, output.shape.context):
                self.by_anchor.setdefault(anchor, []).append(number)
        self.consumes = tuple((field, _anchors(field)) for field in self.signature.inputs)
        """Inputs, each with its anchors."""


class Sides:
    """The sides of tools that are asked for again and again, read once.

    Tools are told apart by identity: a catalog hands out the same record until the tool changes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[int, Side] = {}
        self._covered: dict[tuple[Side, Side], Coverage | None] = {}

    def of(self, tool: Tool) -> Side:
        """The side of a tool; that it keeps the tool alive keeps the tool's number its own."""
        found = self._known.get(id(tool))
        if found is None or found.tool is not tool:
            while len(self._known) >= self._most:
                self._known.pop(next(iter(self._known)), None)
            found = self._known[id(tool)] = Side(tool)
        return found

    def provided(self, provider: Tool, consumer: Tool) -> Coverage | None:
        """What `provided` says of two tools."""
        pair = self.of(provider), self.of(consumer)
        if pair not in self._covered:
            while len(self._covered) >= self._most:
                self._covered.pop(next(iter(self._covered)), None)
            self._covered[pair] = provided(*pair)
        return self._covered[pair]


def provides(provider: Side, consumer: Side) -> ProvidesEdge | None:
    """The edge from the one to the other; None if nothing matches, and to a tool itself."""
    if provider.id == consumer.id:
        return None
    mappings = tuple(field_mapping(provider, consumer))
    covered = coverage(consumer.signature.inputs, {m.to_field for m in mappings})
    if covered is None:
        return None
    return ProvidesEdge(
        provider=provider.id, consumer=consumer.id, coverage=covered, field_mapping=mappings
    )


def provided(provider: Side, consumer: Side) -> Coverage | None:
    """What the schemas alone say that one call's result covers of another call's input.

    The tools may be one and the same: a second call can take what the first returned.  Outputs
    that no schema has and fields of different types do not count.
    """
    fields = {
        mapping.to_field
        for mapping in field_mapping(provider, consumer, inferred=False)
        if mapping.type_compatible
    }
    return coverage(consumer.signature.inputs, fields)


def field_mapping(
    provider: Side, consumer: Side, *, inferred: bool = True
) -> Iterable[FieldMapping]:
    """For each input that something matches, the best output; of equals the first.

    Args:
        provider: whose outputs.
        consumer: whose inputs.
        inferred: with outputs that no schema has.
    """
    outputs = provider.signature.outputs
    for taken, wanted in consumer.consumes:
        numbers = {n for anchor in wanted for n in provider.by_anchor.get(anchor, ())}
        candidates = [outputs[number] for number in sorted(numbers)]
        if not inferred:
            candidates = [o for o in candidates if o.shape.origin is Origin.SCHEMA]
        found = _best(candidates, taken)
        if found is not None:
            yield found


def coverage(inputs: Sequence[Field], covered: Collection[str]) -> Coverage | None:
    """How much of a tool's inputs the covered ones are; None for nothing."""
    if not covered:
        return None
    needed = {field.path for field in inputs if field.required}
    if needed.isdisjoint(covered):
        return Coverage.OPTIONAL
    return Coverage.STRICT if needed.issubset(covered) else Coverage.PARTIAL


def _best(outputs: Iterable[Field], taken: Field) -> FieldMapping | None:
    best, chosen = THRESHOLD, None
    for output in outputs:
        found = score(output, taken)
        if found > best or (found == best and chosen is None):
            best, chosen = found, output
    if chosen is None:
        return None
    return FieldMapping(
        from_field=chosen.path,
        to_field=taken.path,
        type_compatible=_fits(chosen.shape.type, taken.shape.type),
        score=round(best, _DIGITS),
        inferred=chosen.shape.origin is not Origin.SCHEMA,
    )


def _fits(produced: str, consumed: str) -> bool:
    return not produced or not consumed or produced == consumed


def _anchors(field: Field) -> frozenset[str]:
    return anchors(field.shape.words, field.shape.context)
