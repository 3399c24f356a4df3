"""Hostile programs, as data: what each tries, and which guard has to stop it.

A program returns ``"breached"`` when its attack worked; anything else (an error, another
value, the death of its process) is a refusal.  Where success shows only from outside, the
probe names another judge.  ``beside`` lists guards that would stop the attack too: they are
switched off in a second attack and in the control, so that one guard alone is tried.

Programs find in ``args``: ``file`` and ``code`` (paths that everybody may read), ``secret`` (a
path that only our user may read), ``port`` (a canary that speaks HTTP), ``broker`` (the port
of the pool), ``pid`` (a process of ours), the time of their start, ``now``, and what an honest
run draws first: ``uuid``, ``random`` and ``bytes``.
"""

from enum import StrEnum

from pml.domain.record import Record


class Judge(StrEnum):
    """How the success of an attack shows."""

    VALUE = "value"
    """The program returned ``"breached"``."""
    KILLED = "killed"
    """The process ended by the program's own hand."""
    HIT = "hit"
    """The canary got a request."""
    OUTPUT = "output"
    """``forged-frame`` stands on stdout."""
    FORGED = "forged"
    """A call of ``forged`` reached us, which the code never made."""
    SURVIVED = "survived"
    """It still runs after the deadline."""
    FILES = "files"
    """It left new files behind while it ran."""


class Probe(Record, frozen=True, kw_only=True):
    """One attack."""

    name: str
    guard: str
    """Field of `Guards` that has to stop it."""
    program: str
    beside: tuple[str, ...] = ()
    judge: Judge = Judge.VALUE
    first: str | None = None
    """A program of another run that went before in the same pool."""


def through_deno(name: str, program: str, *beside: str, judge: Judge = Judge.VALUE) -> Probe:
    """An attack through Deno's own functions, which permissions stop where globals do not."""
    return Probe(
        name=name,
        guard="permissions",
        beside=("globals", *beside),
        program=program,
        judge=judge,
    )


def through_global(name: str, program: str, judge: Judge = Judge.VALUE) -> Probe:
    """An attack through a global that is no longer there."""
    return Probe(name=name, guard="globals", program=program, judge=judge)


CATCH_PORT = (
    "const native = EventTarget.prototype.dispatchEvent; let port;"
    "EventTarget.prototype.dispatchEvent = function (e) {"
    " port = this; return native.call(this, e); };"
    "await mcp.a.b();"
)
"""The head of a program that catches the port as ``port`` where events are not frozen."""
