"""Every error that ``pml`` raises on purpose, in one tree.

The edges turn a branch into an exit code or a status, so a new error needs a place here
and nothing else::

    PmlError
    ├── ConfigError            mcp.json, permissions.yaml, environment: file, line, expectation
    ├── DatasetError           a data set to evaluate on: file, column, row, expectation
    ├── RequestError           what was asked cannot be answered: which field, what was expected
    ├── DagError               an explicit workflow that cannot be compiled
    ├── StoreError             the database cannot be had or was lost
    │   ├── EmbeddedPostgresError
    │   ├── SchemaTooNewError  an older program met a newer database
    │   └── LedgerKeyError     the log cannot be decrypted
    ├── NotFoundError          no run, trace or result of that id (or it expired)
    ├── RunStateError          the run is not in a state that allows this
    ├── FencedError            another process has taken the run over
    ├── ApprovalStateError     the approval was answered, withdrawn, or has expired
    ├── NotAllowedError        who asks has not the role that this needs
    ├── SavedStateError        what was learned cannot be loaded: damaged, or of another form
    │   └── ModelFileError     a model file: damaged, or of another version, graph or encoder
    ├── EmptyReplayError       nothing to draw from
    ├── StudyError             a process that searched for parameters failed
    ├── LogOrderError          a record that cannot follow the run's log
    ├── DivergedError          replayed code did something else than its log says
    ├── SandboxError           the sandbox could not be started or broke its protocol
    │   └── SandboxDiedError   it ended before its program did
    └── UpstreamError          a server did not answer as a server
        ├── UpstreamUnavailableError   not connected; nothing was sent
        └── OutcomeUnknownError        sent, and no answer came

A wrong argument is a bug in the caller and stays a plain ``ValueError``.
"""


class PmlError(Exception):
    """Base of all deliberate errors; catch it only at the outermost edge."""


class ConfigError(PmlError):
    """A file or variable that the user wrote says something that PML cannot use."""

    def __init__(self, source: str, message: str, *, line: int | None = None) -> None:
        where = source if line is None else f"{source}:{line}"
        super().__init__(f"{where}: {message}")
        self.source = source
        self.line = line


class DatasetError(PmlError):
    """A folder of data does not hold what `docs/reference/datasets.md` describes."""

    def __init__(
        self, file: str, message: str, *, column: str | None = None, row: int | None = None
    ) -> None:
        """Say where: ``row`` counts from 0, as polars does."""
        of_column = "" if column is None else f", column {column!r}"
        of_row = "" if row is None else f", row {row}"
        super().__init__(f"{file}{of_column}{of_row}: {message}")
        self.file = file
        self.column = column
        self.row = row


class RequestError(PmlError):
    """What was asked cannot be answered; the message names the field and what was expected."""


class DagError(PmlError):
    """An explicit workflow contradicts itself; the message says which task and what to change."""

    def __init__(self, task_id: str, message: str) -> None:
        super().__init__(f"task {task_id!r}: {message}")
        self.task_id = task_id


class StoreError(PmlError):
    """The database cannot be had, or was lost."""


class EmbeddedPostgresError(StoreError):
    """The embedded PostgreSQL did not start or stop; the message says what to do."""


class SchemaTooNewError(StoreError):
    """The database was migrated by a newer PML."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"the database has schema version {found}, this PML knows up to {known}: update PML"
        )
        self.found = found
        self.known = known


class LedgerKeyError(StoreError):
    """A log record cannot be decrypted with the key at hand."""


class NotFoundError(PmlError):
    """There is no such thing, or it has expired."""

    def __init__(self, kind: str, key: str, hint: str = "") -> None:
        super().__init__(f"no {kind} {key!r}" + (f": {hint}" if hint else ""))
        self.kind = kind
        self.key = key


class RunStateError(PmlError):
    """The run is not in a state that allows this."""

    def __init__(self, run_id: str, state: str, wanted: str) -> None:
        super().__init__(f"run {run_id} is {state} and cannot become {wanted}")
        self.run_id = run_id
        self.state = state
        self.wanted = wanted


class FencedError(PmlError):
    """Another process has taken the run over; this one must stop touching it."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id} was taken over by another PML process")
        self.run_id = run_id


class ApprovalStateError(PmlError):
    """An approval cannot be answered so (any more)."""

    def __init__(self, approval_id: str, state: str) -> None:
        super().__init__(f"approval {approval_id} is {state} and cannot be answered so any more")
        self.approval_id = approval_id
        self.state = state


class NotAllowedError(PmlError):
    """Who asks has not the role that this needs; the message says which and how to get it."""


class SavedStateError(PmlError):
    """A saved state of learning is damaged or of another form; nothing of it was loaded."""

    def __init__(self, what: str, message: str) -> None:
        super().__init__(f"saved state of the {what}: {message}")
        self.what = what


class ModelFileError(SavedStateError):
    """A model file cannot be used, and nothing of it was; says what to do."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__("model", f"{problem}; {remedy}")
        self.problem = problem
        """What was expected, and what was found."""
        self.remedy = remedy


class EmptyReplayError(PmlError):
    """A draw was asked of something whose weights are all zero."""

    def __init__(self) -> None:
        super().__init__("there is nothing to draw from: all weights are zero")


class StudyError(PmlError):
    """A process that searched for parameters failed; it said why on stderr."""


class LogOrderError(PmlError):
    """A record cannot follow the log of its run: the rules refuse it, or the log is damaged."""

    def __init__(self, seq: int, message: str) -> None:
        super().__init__(f"log record {seq}: {message}")
        self.seq = seq


class DivergedError(PmlError):
    """Replayed code did something else than the log says; nothing may be called any more."""

    def __init__(self, seq: int, expected: str, found: str) -> None:
        super().__init__(
            f"the program took another way than its log: at record {seq} the log says {expected}, "
            f"the program did {found}"
        )
        self.seq = seq
        self.expected = expected
        self.found = found


class SandboxError(PmlError):
    """The sandbox could not be started, or broke its protocol."""


class SandboxDiedError(SandboxError):
    """A sandbox ended before its program did; ``reason`` is a `SandboxEnd`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class UpstreamError(PmlError):
    """A server did not answer as a server should."""

    def __init__(self, server: str, message: str) -> None:
        super().__init__(f"server {server!r}: {message}")
        self.server = server


class UpstreamUnavailableError(UpstreamError):
    """Nothing was sent: the server cannot be connected."""


class OutcomeUnknownError(UpstreamError):
    """The request was sent and no answer came: whether it took effect is unknown."""

    def __init__(self, server: str, message: str, *, timed_out: bool) -> None:
        super().__init__(server, message)
        self.timed_out = timed_out
