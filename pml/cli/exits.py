"""How a command ends, as a number that scripts can rely on.

The names are part of the interface: docs/reference/cli.md lists them, and a new branch of
the error tree (`pml.errors`) needs a line in `for_error` only if it means something new to
the caller.
"""

from enum import IntEnum

from pml.domain.response import ExecuteResponse
from pml.errors import (
    ConfigError,
    DatasetError,
    NotFoundError,
    PmlError,
    RequestError,
    SandboxError,
    StoreError,
    UpstreamError,
)


class ExitCode(IntEnum):
    """Exit codes of ``pml`` and ``pml-serve``."""

    OK = 0
    FAILED = 1
    """The program failed, its source has errors, or a check did not pass."""
    USAGE = 2
    """The command line itself is wrong."""
    APPROVAL_REQUIRED = 3
    """A person has to agree first: `pml approve`."""
    IN_DOUBT = 4
    """A write was sent and nobody knows whether it took effect: `pml continue --resolve`."""
    CONFIG = 5
    """A file or variable that you wrote cannot be used; the message names the line."""
    UNAVAILABLE = 6
    """The database, the sandbox or a server cannot be had."""
    NOT_FOUND = 7
    """There is no such run, trace, tool, capability, grant, key or configuration."""
    SUGGESTIONS = 8
    """Nothing ran: the intent alone was not clear enough, and what could be run was shown."""
    PAUSED = 9
    """A layer is done, and the run waits: `pml continue`, `pml replan` or `pml abort`."""
    UNFINISHED = 10
    """The run was interrupted and nothing of it is lost: `pml continue`."""
    UNDER_WAY = 11
    """Another process runs it; ask again later."""
    INTERRUPTED = 130
    """You pressed Ctrl-C."""


_BY_STATUS = {
    "success": ExitCode.OK,
    "approval_required": ExitCode.APPROVAL_REQUIRED,
    "in_doubt": ExitCode.IN_DOUBT,
    "suggestions": ExitCode.SUGGESTIONS,
    "layer_complete": ExitCode.PAUSED,
}
_BY_ERROR: dict[type[PmlError], ExitCode] = {
    ConfigError: ExitCode.CONFIG,
    DatasetError: ExitCode.CONFIG,
    RequestError: ExitCode.USAGE,
    StoreError: ExitCode.UNAVAILABLE,
    SandboxError: ExitCode.UNAVAILABLE,
    UpstreamError: ExitCode.UNAVAILABLE,
    NotFoundError: ExitCode.NOT_FOUND,
}


_BY_CODE = {
    "store_unavailable": ExitCode.UNAVAILABLE,
    "sandbox_unavailable": ExitCode.UNAVAILABLE,
    "server_unavailable": ExitCode.UNAVAILABLE,
    "busy": ExitCode.UNAVAILABLE,
    "interrupted": ExitCode.UNFINISHED,
    "under_way": ExitCode.UNDER_WAY,
}
"""By error code, of what the status alone does not say."""


def for_response(response: ExecuteResponse) -> ExitCode:
    """The code that says how a run ended, or what it waits for."""
    if response.error is not None and response.error.code in _BY_CODE:
        return _BY_CODE[response.error.code]
    return _BY_STATUS.get(response.status, ExitCode.FAILED)


def for_error(error: PmlError) -> ExitCode:
    """The code of the nearest branch of the error tree."""
    for kind in type(error).__mro__:
        if kind in _BY_ERROR:
            return _BY_ERROR[kind]
    return ExitCode.FAILED
