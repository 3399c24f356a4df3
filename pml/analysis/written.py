"""What the canonical form writes without looking around: literals, by what they mean."""

from abc import ABC, abstractmethod

from pml.analysis.numbered import Numbered
from pml.analysis.spelling import fragment, number_text
from pml.analysis.syntax import Syntax


class Written(Numbered, ABC):
    """Writes literals; what stands inside a template is written by `visit`."""

    @abstractmethod
    def visit(self, node: Syntax) -> None:
        """Write one node."""

    def string(self, node: Syntax) -> None:
        """Write what stands between quotes."""
        self.text("string", fragment(self.source, node.start + 1, node.end - 1))

    def template(self, node: Syntax, *, tagged: bool = False) -> None:
        """Write a template; without substitutions it is a string."""
        inside = [child for child in node.children if child.kind == "template_substitution"]
        if not inside and not tagged:
            self.string(node)
            return
        self.open("template", *["tagged"] * tagged)
        start = node.start + 1
        for end, after, child in (
            *((child.start, child.end, child) for child in inside),
            (node.end - 1, node.end, None),
        ):
            if tagged:  # the function may look at how it is spelled
                raw = self.source.data[start:end].decode("utf-8", "replace")
                self.text("raw", raw.replace("\r\n", "\n"))
            else:
                self.text("string", fragment(self.source, start, end))
            for inner in child.children if child is not None else ():
                self.visit(inner)
            start = after
        self.close()

    def number(self, node: Syntax) -> None:
        """Write a number by its value."""
        self.text("number", number_text(self.source, node))

    def spelled(self, node: Syntax) -> None:
        """Write something as it is spelled."""
        self.text(node.kind, self.source.text(node))

    def array(self, node: Syntax) -> None:
        """Write elements with their places, and the length."""
        last = node.children[-1].index + 1 if node.children else 0
        self.open(node.kind, str(max(node.commas, last)))
        for child in node.children:
            self.parts.append(f"{child.index}:")
            self.visit(child)
        self.close()

    def update(self, node: Syntax) -> None:
        """Write ``x++`` or ``++x``."""
        argument = node["argument"]
        before = "before" if node.start < argument.start else "after"
        self.open("update", *node.tokens, before)
        self.visit(argument)
        self.close()

    def labelled(self, node: Syntax) -> None:
        """Write a statement with a label."""
        self.open("labelled")
        self.labels.append(self.source.name(node["label"]))
        self.visit(node["body"])
        self.labels.pop()
        self.close()
