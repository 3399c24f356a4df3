"""What is said about a program before it runs (SA-7)."""

from collections.abc import Iterable, Iterator, Mapping

from pml.analysis.calls import Calls, Site
from pml.analysis.functions import method_of, receiver_of
from pml.analysis.globals import ABSENT, RESERVED, SHIM
from pml.analysis.hyphens import subtractions
from pml.analysis.judging import Judge, Violation
from pml.analysis.misuses import Misuse
from pml.analysis.partial import place_of
from pml.analysis.patterns import parameters
from pml.analysis.scope import Scopes
from pml.analysis.syntax import Source, Syntax, bare
from pml.analysis.uncalled import Uncalled
from pml.analysis.unknown import Unknown, not_a_tool
from pml.domain.program import Diagnostic, Severity
from pml.domain.sanitising import redact_text
from pml.domain.structure import Argument
from pml.domain.tools import Catalog

_TEXT_CHARS = 80
_TEXT_BYTES = 4_096
"""Of what a diagnostic is about, that are looked at for its first line."""

_REFUSED = {
    "import_statement": ("module-syntax", "a program cannot import: tools are its only way out"),
    "export_statement": ("module-syntax", "a program cannot export: return its result"),
    "internal_module": ("unsupported", "namespaces are not possible inside a function"),
    "module": ("unsupported", "modules are not possible inside a function"),
    "with_statement": ("unsupported", "the program is strict code: `with` is not possible"),
    "hash_bang_line": ("unsupported", "remove the line: the program is no script file"),
    "import_alias": ("module-syntax", "a program cannot import: tools are its only way out"),
    "html_comment": ("syntax", "`-->` cannot begin a line: for a comment write //"),
    "decorator": ("unsupported", "decorators are not possible: call the function yourself"),
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
        text = first_line(self._source, start, end)
        self.found.append(
            Diagnostic(
                severity=severity,
                code=code,
                message=message,
                line=line,
                column=column,
                text=text,
            )
        )

    def add(self, node: Syntax, said: tuple[Severity, str, str]) -> None:
        """Report a node with a severity, a code and a message."""
        self.at(node.start, node.end, *said)

    def error(self, node: Syntax, code: str, message: str) -> None:
        """Report a node that stops the program."""
        self.at(node.start, node.end, Severity.ERROR, code, message)

    def warn(self, node: Syntax, code: str, message: str) -> None:
        """Report a node that may be a mistake."""
        self.at(node.start, node.end, Severity.WARNING, code, message)


def first_line(source: Source, start: int, end: int) -> str:
    """The first line of a range without secrets, cut to what a message can hold."""
    data = source.data[start : min(end, start + _TEXT_BYTES)]
    text = redact_text(data.decode("utf-8", "ignore").strip())  # whole: half of one would show
    return text.splitlines()[0][:_TEXT_CHARS].rstrip() if text else ""


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
    for node in source.of_kinds("meta_property"):
        if source.text(node).startswith("import"):
            message = "import.meta says nothing of a program: leave it out"
            report.error(node, "module-syntax", message)
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
    for name in ABSENT.keys() & scopes.free.keys():
        reason = ABSENT[name]
        for node in scopes.free[name]:
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
    unknown = Unknown(catalog)
    judge = Judge(source)
    told = set()
    for node, whole, message in subtractions(source, calls):
        told.add(node)
        report.error(whole, "no-tool", message)
    for site in (one for one in calls.sites if one.expression not in told):
        tool = catalog.find(site.handle.tool)
        if tool is None:
            report.add(site.expression, unknown.of(site.handle))
        elif site.call is not None:
            for violation in judge.violations(tool, site.arguments, arguments[site]):
                place = _place(source, site, violation)
                severity = Severity.ERROR if violation.certain else Severity.WARNING
                report.add(place, (severity, violation.code, violation.message))
    for call, handle in calls.not_tools:
        report.error(call, "no-tool", not_a_tool(handle, catalog))
    for leak in (one for one in calls.leaks if one not in told):
        message = (
            f"{source.text(bare(leak))[:_TEXT_CHARS]} goes where it cannot be followed: what is "
            "called through it is not known before the program runs, so it needs approval"
        )
        report.warn(leak, "dynamic-tool", message)


def _place(source: Source, site: Site, violation: Violation) -> Syntax:
    """The innermost part of the arguments that the violation is about, or the call."""
    if not site.arguments or not violation.place:
        return site.node
    return place_of(source, site.arguments[0], violation.place)


def report_flow(
    source: Source,
    *,
    unreachable: Iterable[Syntax],
    unawaited: Iterable[Syntax],
    misused: Iterable[Misuse],
    cut: Syntax | None,
    report: Reporter,
) -> None:
    """Code that never runs, calls whose outcome nobody looks at, promises taken for values.

    ``cut`` is a call that may run more functions than were followed.
    """
    if cut is not None:
        message = (
            "this may run more functions than are followed: all calls are shown, but they may "
            "happen in an order that is not; call functions by their names, or split the program"
        )
        report.warn(cut, "too-many-functions", message)
    for node in unreachable:
        report.warn(node, "unreachable-code", "this is never reached")
    told = set()
    for misuse in misused:
        told.add(bare(misuse.node))
        report.warn(misuse.node, "promise-as-value", misuse.message)
    for node in unawaited:
        if node not in told:
            report.warn(node, "unawaited-call", _unawaited(source, node))


def report_uncalled(uncalled: Uncalled, report: Reporter) -> None:
    """Functions with calls that never happen, since nothing calls the function."""
    for function, binding in uncalled.functions.items():
        given = "..." if parameters(function) else ""
        todo = f"add return await {binding.name}({given});"
        if not uncalled.every_call:
            todo = "call it, or remove it"
        message = f"{binding.name!r} is never called, so the calls in it never happen: {todo}"
        report.warn(binding.node, "never-called", message)


def _unawaited(source: Source, call: Syntax) -> str:
    if method_of(source, call) != "forEach":
        return "nothing waits for this call: put `await` before it, or its failure is lost"
    receiver = receiver_of(call)
    shown = source.text(receiver) if receiver.kind == "identifier" else "xs"
    return (
        "forEach waits for nothing: the program goes on, and may end, before these calls do: "
        f"write for (const x of {shown}) {{ await ... }}, or await Promise.all({shown}.map(...))"
    )


def errors_first(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Errors before warnings, each in source order."""
    yield from sorted(found, key=lambda d: (d.severity is Severity.WARNING, d.line, d.column))
