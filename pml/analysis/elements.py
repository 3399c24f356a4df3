"""Which part of a literal list a pattern takes: ``const [a, b] = await Promise.all([x, y])``.

Nobody else holds such a list, so its parts are values of their own.
"""

from pml.analysis.functions import arguments_of, method_of, receiver_of
from pml.analysis.scope import Definition
from pml.analysis.syntax import Source, Syntax, bare


def element(source: Source, definition: Definition) -> Syntax:
    """The element that the definition takes, or the whole value where none can be told."""
    if not definition.path or not isinstance(definition.path[0], int):
        return definition.value
    found = _listed(source, bare(definition.value))
    if found is None or any(child.kind == "spread_element" for child in found.children):
        return definition.value
    chosen = (child for child in found.children if child.index == definition.path[0])
    return bare(next(chosen, definition.value))


def _listed(source: Source, node: Syntax) -> Syntax | None:
    """The literal list that the value is, or that ``Promise.all`` waits for."""
    if node.kind == "await_expression" and node.children:
        call = bare(node.children[0])
        arguments = arguments_of(call) if call.kind == "call_expression" else []
        if len(arguments) != 1 or method_of(source, call) != "all":
            return None
        node = bare(arguments[0]) if source.text(receiver_of(call)) == "Promise" else node
    return node if node.kind == "array" else None
