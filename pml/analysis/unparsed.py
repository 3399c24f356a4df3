"""What is said of a source that does not parse, or that is nested too deep (SA-1).

The parser only says where it lost its way; what was written there tells the usual reasons.
"""

import re
from collections.abc import Callable

from tree_sitter import Node

from pml.analysis.diagnose import Reporter, first_line
from pml.analysis.syntax import MAX_DEPTH, Source, Syntax
from pml.domain.program import Severity

_SYNTAX_ERRORS = 10
"""Reported per program: one mistake often makes many."""
_LOOKED_AT = 2_000
"""Characters of what does not parse, and brackets in it."""
_CLOSING = {"(": ")", "[": "]", "{": "}", "${": "}"}

_FENCE = re.compile(rb"\s*(```[^\n`]*\n)")
_USING_LOOP = re.compile(r"for\s*(?:await\s*)?\(\s*(?:await\s+)?using\b")
_JSX = re.compile(r"</([A-Za-z][\w.]*)?\s*>|<([A-Za-z][\w.]*)[^<>]*/>")
_NO_JSX = "JSX is not possible: a program has no page; make text, or return data"
_OPEN_STRING = re.compile(r"""^(?:[^'"`\n\\]|\\.)*(?:"(?:[^"\\\n]|\\.)*|'(?:[^'\\\n]|\\.)*)$""")
_REASONS: tuple[tuple[Callable[[str], object], str], ...] = (
    (
        _USING_LOOP.search,
        "`for (using x of y)` is not understood: write `for (const v of y) { using x = v; ... }`",
    ),
    (_JSX.search, _NO_JSX),
    (lambda text: text.count("`") % 2, "a template is never closed: add `"),
    (
        lambda text: _OPEN_STRING.match(text.split("\n", 1)[0]),
        "a string ends with its line: close it with its quote, or use a template: `...`",
    ),
)


_OF_PYTHON: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"#(?!!)"), "a comment begins with //"),
    (re.compile(r"(?:async\s+)?def\s"), "write async function name(x) { ... }"),
    (re.compile(r"(?:[\w.]+\s+)?(?:and|or|not)\s+[\w(]"), "write && for and, || for or, ! for not"),
    (re.compile(r"elif\b"), "write else if (...) { ... }"),
    (re.compile(r"for\s+\w+\s+in\b"), "write for (const x of xs) { ... }"),
    (re.compile(r"(?:if|while)\s[^(]*:\s*$"), "write if (...) { ... }"),
    (re.compile(r"""f["']"""), "write a template: `... ${x} ...`"),
    (re.compile(r"(?:try|finally)\s*:|except\b"), "write try { ... } catch (error) { ... }"),
)
"""How a line goes on where the parser lost its way, and what is written in TypeScript."""


def report_syntax(source: Source, report: Reporter) -> None:
    """What does not parse, and what parses only by chance."""
    fence = _FENCE.match(source.data)
    if fence is not None:
        message = "the code stands in a Markdown fence: send what is between the lines with ```"
        report.at(fence.start(1), fence.end(1), Severity.ERROR, "syntax", message)
        return
    for count, node in enumerate(source.problems()):
        if count == _SYNTAX_ERRORS:
            return
        if node.is_missing:
            start = _before_blanks(source.data, node.start_byte)
            message = f"expected {node.type!r} here"
            report.at(start, node.end_byte, Severity.ERROR, "syntax", message)
        else:
            message = _reason(source, node) or _unexpected(source, node)
            start = _start(source, node, message)
            report.at(start, node.end_byte, Severity.ERROR, "syntax", message)


def _start(source: Source, node: Node, message: str) -> int:
    """Where the mistake begins: the parser goes back to the beginning of a statement."""
    if message is not _NO_JSX:
        return node.start_byte
    data = source.data[node.start_byte : min(node.end_byte, node.start_byte + _LOOKED_AT)]
    closed = _JSX.search(data.decode("utf-8", "ignore"))
    name = "" if closed is None else closed[1] or closed[2] or ""
    opened = re.search(rb"<" + re.escape(name.encode()) + rb"(?![\w.])", data)
    return node.start_byte + (0 if opened is None else opened.start())


def report_depth(source: Source, report: Reporter) -> None:
    """What is nested deeper than analysis goes."""
    if source.too_deep is not None:
        at = source.too_deep.start
        message = f"nested more than {MAX_DEPTH} levels deep: {_advice(source.too_deep)}"
        report.at(at, at + 1, Severity.ERROR, "too-deep", message)


def _unexpected(source: Source, node: Node) -> str:
    shown = first_line(source, node.start_byte, node.end_byte) or "the end of the source"
    return f"unexpected {shown!r}: expected a TypeScript statement or expression"


def _reason(source: Source, node: Node) -> str | None:
    end = min(node.end_byte, node.start_byte + _LOOKED_AT)
    text = source.data[node.start_byte : end].decode("utf-8", "ignore")
    if "\0" in text:
        return "a NUL character stands in the code: is this a text file?"
    if _in_comment(source.data, node.start_byte):
        return "the comment that begins with /* is never closed: add */"
    line = source.data[node.start_byte : node.start_byte + _LOOKED_AT].decode("utf-8", "ignore")
    line = line.split("\n", 1)[0]
    for pattern, instead in _OF_PYTHON:
        if pattern.match(line):
            return f"this is Python, and a program is TypeScript: {instead}"
    for found, reason in _REASONS:
        if found(text):
            return reason
    return _unbalanced(source, node)


def _in_comment(data: bytes, offset: int) -> bool:
    """Whether a comment begins at or before the offset, in the same line, and nothing ends it."""
    line = data.rfind(b"\n", 0, offset) + 1
    opened = data.rfind(b"/*", line, offset + 2)
    return opened >= 0 and data.find(b"*/", opened + 2) < 0


def _unbalanced(source: Source, node: Node) -> str | None:
    """The bracket that is not closed, or that closes nothing, among the pieces that are left."""
    open_brackets: list[Node] = []
    for place in range(min(node.child_count, _LOOKED_AT)):
        child = node.child(place)
        if child is None or child.is_named:
            continue
        if child.type in _CLOSING:
            open_brackets.append(child)
        elif child.type in _CLOSING.values():
            if not open_brackets or _CLOSING[open_brackets[-1].type] != child.type:
                line, _column = source.position(child.start_byte)
                return f"the {child.type!r} in line {line} closes nothing"
            open_brackets.pop()
    if not open_brackets:
        return None
    first = open_brackets[-1]
    line, _column = source.position(first.start_byte)
    return f"the {first.type!r} in line {line} is never closed: add {_CLOSING[first.type]!r}"


def _before_blanks(data: bytes, offset: int) -> int:
    """Where the text before a missing token ends."""
    start = offset
    while start and data[start - 1 : start].isspace():
        start -= 1
    return start or offset


def _advice(node: Syntax) -> str:
    """What to do about the construct that makes up most of the nesting."""
    kinds = [outer.kind for outer in node.ancestors()]
    if kinds.count("else_clause") > len(kinds) // 4:
        return "use `switch`, or look the answer up in an object, in place of `else if`"
    if kinds.count("call_expression") > len(kinds) // 4 and "member_expression" in kinds:
        return "end the chain of calls now and then: give a part of it a name with `const`"
    if kinds.count("binary_expression") > len(kinds) // 2:
        return "join a list with [...].join, .every or .some in place of a long chain of operators"
    return "split the expression with variables, or read the data with a tool"
