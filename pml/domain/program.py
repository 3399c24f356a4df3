"""A submitted program after analysis: what it will do, and the text that will run."""

import hashlib
from enum import StrEnum

from pml.domain.capability import CapabilityParameter
from pml.domain.record import Record
from pml.domain.structure import StaticStructure


class Severity(StrEnum):
    """Errors stop a program before it runs; warnings come with the answer."""

    ERROR = "error"
    WARNING = "warning"


class Diagnostic(Record, frozen=True, kw_only=True):
    """What analysis says of one place in the source (SA-7)."""

    severity: Severity
    code: str
    """Stable and greppable: ``syntax``, ``unknown-tool``, ``bad-argument``..."""
    message: str
    """What was found, what was expected, what to do."""
    line: int
    column: int
    text: str = ""
    """The offending text, at most 80 characters."""


class Program(Record, frozen=True, kw_only=True):
    """One analysed submission.

    Invariant: ``instrumented`` is the source with splices only, so it has as many lines;
    it is empty when a diagnostic is an error.
    """

    source: str
    structure: StaticStructure
    instrumented: str
    diagnostics: tuple[Diagnostic, ...] = ()
    parameters: tuple[CapabilityParameter, ...] = ()
    """Names that the code reads, then its lifted literals, each in source order (SA-9)."""
    canonical_hash: str = ""
    """SHA-256 of the canonical form (SA-8); empty when a diagnostic is an error."""

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that stop the program."""
        return tuple(d for d in self.diagnostics if d.severity is Severity.ERROR)

    def source_hash(self) -> str:
        """SHA-256 of the source as sent: what approvals bind to (design, section 5, rule 12)."""
        return hashlib.sha256(self.source.encode()).hexdigest()
