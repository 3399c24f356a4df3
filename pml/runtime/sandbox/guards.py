"""The protections of a sandbox, one switch each.  Pure.

All are on, always.  The switches exist for one reason: the positive controls of the
self-test, which show that an attack succeeds once its guard is off, so that a refusal
proves the guard and not a mistake in the attack.
"""

from pml.domain.record import Record


class Guards(Record, frozen=True, kw_only=True):
    """Which protections hold; see docs/explanation/sandbox.md for why each is there."""

    permissions: bool = True
    """Deno permissions: the process has one loopback port, the worker has nothing."""
    offline: bool = True
    """No remote, npm or JSR modules."""
    builtins: bool = True
    """``node:`` modules are mapped to nothing."""
    environment: bool = True
    """Nothing of our environment is handed on."""
    frozen_files: bool = True
    """After warm-up no file can be written (RLIMIT_FSIZE 0)."""
    globals: bool = True
    """Only globals on the list stay."""
    intrinsics: bool = True
    """The shim uses intrinsics captured before the program exists."""
    events: bool = True
    """The prototypes through which the port dispatches are frozen."""
    private_port: bool = True
    """The protocol runs over a port in a closure, not over the worker's ``postMessage``."""
    stamp: bool = True
    """Each message of the shim starts with a secret: the port alone is not enough to forge."""
    determinism: bool = True
    """Clock, timers and chance are the run's."""
    codegen: bool = True
    """No ``eval`` and no ``new Function``."""
    heap: bool = True
    """V8's heap is capped."""
    data: bool = True
    """RLIMIT_DATA caps what lies outside the heap."""
    cpu: bool = True
    """RLIMIT_CPU."""
    open_files: bool = True
    """RLIMIT_NOFILE."""
    processes: bool = True
    """RLIMIT_NPROC."""
    uid: bool = True
    """As root: a user id of its own for each sandbox."""
    parent_death: bool = True
    """PDEATHSIG: dies with us."""
    token: bool = True
    """A connection must show the token of a sandbox that is expected."""
    frames: bool = True
    """What comes out is decoded strictly."""
    output: bool = True
    """stdout and stderr are capped."""
    deadline: bool = True
    """SIGKILL of the process group when the run's time is over."""
    single_use: bool = True
    """A process runs one program."""


ALL_GUARDS = Guards()
