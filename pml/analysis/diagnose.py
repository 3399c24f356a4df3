"""What is said about a program before it runs (SA-7)."""

from collections.abc import Iterable, Iterator, Mapping

from pml.analysis.calls import Calls, Kind, Site
from pml.analysis.globals import ABSENT, RESERVED, SHIM
from pml.analysis.literals import key_name
from pml.analysis.schemas import violations
from pml.analysis.scope import Scopes
from pml.analysis.syntax import Source, Syntax, bare
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.nearest import did_you_mean
from pml.domain.program import Diagnostic, Severity
from pml.domain.structure import ANY_TOOL, Argument
from pml.domain.tools import Catalog

_TEXT_CHARS = 80
_SYNTAX_ERRORS = 10
"""Reported per program: one mistake often makes many."""

_REFUSED = {
    "import_statement": ("module-syntax", "a program cannot import: tools are its only way out"),
    "export_statement": ("module-syntax", "a program cannot export: return its result"),
    "internal_module": ("unsupported", "namespaces are not possible inside a function"),
    "module": ("unsupported", "modules are not possible inside a function"),
    "with_statement": ("unsupported", "the program is strict code: `with` is not possible"),
    "hash_bang_line": ("unsupported", "remove the line: the program is no script file"),
    "import_alias": ("module-syntax", "a program cannot import: tools are its only way out"),
}
_CODE_FROM_TEXT = "code cannot be made from text: what it calls could not be known before it runs"


class Reporter:
    """Makes diagnostics of places in one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.found: list[Diagnostic] = []

    def at(self, start: int, end: int, severity: Severity, code: str, message: str) -> None:
        """Report a range of bytes."""
        line, column = self._source.position(start)
        text = self._source.data[start:end].decode("utf-8", "replace").strip()
        self.found.append(
            Diagnostic(
                severity=severity,
                code=code,
                message=message,
                line=line,
                column=column,
                text=text.splitlines()[0][:_TEXT_CHARS] if text else "",
            )
        )

    def error(self, node: Syntax, code: str, message: str) -> None:
        """Report a node that stops the program."""
        self.at(node.start, node.end, Severity.ERROR, code, message)

    def warn(self, node: Syntax, code: str, message: str) -> None:
        """Report a node that may be a mistake."""
        self.at(node.start, node.end, Severity.WARNING, code, message)


def report_syntax(source: Source, report: Reporter) -> None:
    """What does not parse."""
    for count, node in enumerate(source.problems()):
        if count == _SYNTAX_ERRORS:
            return
        if node.is_missing:
            message = f"expected {node.type!r} here"
            start = _before_blanks(source.data, node.start_byte)
            report.at(start, node.end_byte, Severity.ERROR, "syntax", message)
            continue
        text = source.data[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()
        shown = text.splitlines()[0][:_TEXT_CHARS] if text else "the end of the source"
        message = f"unexpected {shown!r}: expected a TypeScript statement or expression"
        report.at(node.start_byte, node.end_byte, Severity.ERROR, "syntax", message)


def _before_blanks(data: bytes, offset: int) -> int:
    """Where the text before a missing token ends."""
    return len(data[:offset].rstrip()) if data[:offset].strip() else offset


def report_refused(source: Source, scopes: Scopes, report: Reporter) -> None:
    """Syntax and names that a program in the sandbox cannot have."""
    for kind, (code, message) in _REFUSED.items():
        for node in source.of_kinds(kind):
            report.error(node, code, message)
    for call in source.of_kinds("call_expression", "new_expression"):
        callee = call.get("function") or call.get("constructor")
        if callee is not None and callee.kind == "import":
            message = "import() is not possible: tools are the only way out"
            report.error(call, "dynamic-import", message)
        elif callee is not None and _is_free(source, scopes, callee, {"eval", "Function"}):
            report.error(call, "dynamic-code", _CODE_FROM_TEXT)
    for node in scopes.doubled:
        message = f"{source.text(node)!r} is declared twice in one scope"
        report.error(node, "syntax", message)
    _report_names(source, scopes, report)


def _is_free(source: Source, scopes: Scopes, node: Syntax, names: set[str]) -> bool:
    node = bare(node)
    return node.kind == "identifier" and scopes.binding(node) is None and source.text(node) in names


def _report_names(source: Source, scopes: Scopes, report: Reporter) -> None:
    """Names that are PML's: `SHIM` everywhere, the others where the program itself has them."""
    for scope, table in scopes.tables.items():
        for name in sorted((RESERVED if scope is source.root else {SHIM}) & set(table)):
            message = f"{name!r} is what PML gives to every program: use another name"
            report.error(table[name].node, "reserved-name", message)
    for node in scopes.free.get(SHIM, ()):
        report.error(node, "reserved-name", f"{SHIM!r} is PML's own: use another name")
    for node in scopes.assigned_free:
        name = source.name(node)
        if name in RESERVED - {SHIM}:
            report.error(node, "reserved-name", f"{name!r} cannot be assigned: use another name")
    for name, reason in ABSENT.items():
        for node in scopes.free.get(name, ()):
            if node.parent is None or "typeof" not in node.parent.tokens:
                message = f"{name!r} does not exist in the sandbox: {reason}"
                report.error(node, "not-in-sandbox", message)


def report_calls(
    source: Source,
    calls: Calls,
    catalog: Catalog,
    arguments: Mapping[Site, Mapping[str, Argument]],
    report: Reporter,
) -> None:
    """Unknown servers, tools and capabilities, and arguments that cannot be right."""
    for site in calls.sites:
        tool = catalog.find(site.handle.tool)
        if tool is None:
            _report_unknown(site, catalog, report)
        elif site.call is not None:
            in_object = bool(site.arguments) and bare(site.arguments[0]).kind == "object"
            for code, name, message in violations(tool, arguments[site], in_object=in_object):
                report.error(_place(source, site, name), code, message)
    for leak in calls.leaks:
        message = "what is called through this cannot be known before it runs: it needs approval"
        report.warn(leak, "dynamic-tool", message)


def _report_unknown(site: Site, catalog: Catalog, report: Reporter) -> None:
    """A call of what the catalog does not have."""
    handle, expression = site.handle, site.expression
    server, name = handle.server or "", handle.name or ""
    others = catalog.tools_of(server)
    if handle.kind is Kind.CAPABILITY:
        message = f"no capability {name!r} is known{did_you_mean(name, others)}"
        if handle.tool == ANY_TOOL:  # a run keeps the versions that it calls: they must be named
            message = "which capability this calls cannot be known before it runs: write its name"
        report.error(expression, "unknown-capability", message)
    elif handle.tool == ANY_TOOL:
        message = "which tool this calls cannot be known before it runs: it needs approval"
        report.warn(expression, "dynamic-tool", message)
    elif server not in catalog.servers:
        servers = [known for known in catalog.servers if known != CAPABILITY_SERVER]
        hint = did_you_mean(server, servers)
        if not servers:
            hint = ": no server is configured; name them in mcp.json"
        report.error(expression, "unknown-server", f"no server {server!r}{hint}")
    else:
        message = f"server {server!r} has no tool {name!r}{did_you_mean(name, others)}"
        report.error(expression, "unknown-tool", message)


def _place(source: Source, site: Site, name: str | None) -> Syntax:
    """The argument of that name, or the call."""
    given = bare(site.arguments[0]) if site.arguments else None
    for child in given.children if given is not None and name is not None else ():
        key = child.get("key") or child
        if key_name(source, key) == name:
            return child
    return site.node


def report_flow(
    unreachable: Iterable[Syntax], unawaited: Iterable[Syntax], report: Reporter
) -> None:
    """Code that never runs, and calls whose outcome nobody looks at."""
    for node in unreachable:
        report.warn(node, "unreachable-code", "this is never reached")
    for node in unawaited:
        message = "nothing waits for this call: put `await` before it, or its failure is lost"
        report.warn(node, "unawaited-call", message)


def errors_first(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Errors before warnings, each in source order."""
    yield from sorted(found, key=lambda d: (d.severity is Severity.WARNING, d.line, d.column))
