"""Text in which names are numbers: what the canonical form is written with."""

from json.encoder import encode_basestring_ascii

from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import Source, Syntax


class Numbered:
    """Parts of a text, each on a line of its own; texts are JSON, so on one line.

    Invariant: a binding has the number of its first occurrence among the parts.
    """

    def __init__(self, source: Source, scopes: Scopes) -> None:
        self.parts: list[str] = []
        self.source = source
        self.labels: list[str] = []
        """Labels around the current place, innermost last."""
        self.scopes = scopes
        self._bindings: dict[Binding, int] = {}

    def open(self, what: str, *words: str) -> None:
        """Begin something that holds what follows until `close`."""
        self.parts.append(f"({what} {' '.join(words)}" if words else f"({what}")

    def close(self) -> None:
        """End what was opened last."""
        self.parts.append(")")

    def text(self, what: str, text: str) -> None:
        """Write a text as it is."""
        self.parts.append(f"{what} {encode_basestring_ascii(text)}")

    def name(self, node: Syntax) -> None:
        """Write a name: the number of its binding, or itself where it has none."""
        binding = self.scopes.bound.get(node) or self.scopes.targets.get(node)
        if binding is None:
            self.text("free", self.source.name(node))
        elif binding.kind == "enum":
            self.text("member", binding.name)  # its name is its key
        else:
            number = self._bindings.setdefault(binding, len(self._bindings))
            self.parts.append(f"name {number}")

    def label(self, node: Syntax) -> None:
        """Write a label: how many labels stand between it and here."""
        name = self.source.name(node)
        around = self.labels[::-1]
        self.text("label", str(around.index(name)) if name in around else name)
