"""Mistakes that JavaScript reports before running and that the grammar lets pass (SA-1)."""

from pml.analysis.diagnose import Reporter
from pml.analysis.syntax import FUNCTIONS, LOOPS, Source, Syntax, function_of

_NAME = "property_identifier"
_PATTERNS = frozenset({"object_pattern", "array_pattern"})


def report_early_errors(source: Source, report: Reporter) -> None:
    """Constants without a value, misplaced ``await``, lost jumps, objects in place of blocks."""
    for node in source.of_kinds("variable_declarator"):
        _check_declarator(source, node, report)
    for node in source.of_kinds("await_expression"):
        _check_await(source, node, report)
    for node in source.of_kinds("for_in_statement"):
        if "await" in node.tokens:
            _check_await(source, node, report)
    for node in source.of_kinds("expression_statement"):
        if node.children and node.children[0].kind == "object":
            _check_block(node.children[0], report)
    for node in source.of_kinds("arrow_function"):
        if "body" in node.fields and node["body"].kind == "object":
            _check_block(node["body"], report)
    for node in source.of_kinds("break_statement", "continue_statement"):
        _check_jump(source, node, report)


def _check_declarator(source: Source, node: Syntax, report: Reporter) -> None:
    name = node.get("name")
    if name is None or "value" in node.fields or node.parent is None:
        return
    if "const" in node.parent.tokens or name.kind in _PATTERNS:
        report.error(node, "syntax", f"{source.text(name)!r} needs an initial value: add `= ...`")


def _check_await(source: Source, node: Syntax, report: Reporter) -> None:
    function = function_of(node)
    if function.kind in FUNCTIONS and "async" not in function.tokens:
        line, _column = source.position(function.start)
        message = f"await in a function that is not async: write `async` before it in line {line}"
        report.error(node, "syntax", message)


def _check_block(node: Syntax, report: Reporter) -> None:
    """``{ a: b }`` as a statement is a block with a label, which the grammar takes for an object.

    What it evaluates is the same, if the block is one at all.
    """
    first, rest = node.children[:1], node.children[1:]
    for child in first:
        value = child.get("value")
        if child.kind == "pair" and value is not None and child["key"].kind == _NAME:
            if value.kind == "object":
                _check_block(value, report)
            continue
        rest = node.children
    if any(child.kind != "shorthand_property_identifier" for child in rest):
        message = "what begins with { here is a block: put the object in parentheses"
        report.error(node, "syntax", message)


def _check_jump(source: Source, node: Syntax, report: Reporter) -> None:
    keyword = node.kind.removesuffix("_statement")
    label = source.name(node["label"]) if "label" in node.fields else None
    for outer in node.ancestors():
        if outer.kind in FUNCTIONS:
            break
        if _is_target(source, outer, keyword, label):
            return
    if label is None:
        report.error(node, "syntax", f"{keyword} stands in no loop")
    else:
        report.error(node, "syntax", f"{keyword} leads to {label!r}, which is no label around it")


def _is_target(source: Source, outer: Syntax, keyword: str, label: str | None) -> bool:
    if label is None:
        return outer.kind in LOOPS or (keyword == "break" and outer.kind == "switch_statement")
    if outer.kind != "labeled_statement" or source.name(outer["label"]) != label:
        return False
    return keyword == "break" or _labels_loop(outer)


def _labels_loop(labelled: Syntax) -> bool:
    body = labelled["body"]
    while body.kind == "labeled_statement":
        body = body["body"]
    return body.kind in LOOPS
