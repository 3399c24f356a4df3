"""What every run needs, and what it draws from outside."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pml.domain.events import Event
from pml.domain.limits import Limits
from pml.loop.bookkeeping import Bookkeeping
from pml.loop.ports import Sandboxes, Servers
from pml.runtime.mocks import Mocks
from pml.runtime.plan import JudgesTools
from pml.store.ports import Store

Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entropy:
    """What a run draws from outside; arguments, so that tests and replay can fix them."""

    now_ms: Callable[[], int]
    run_id: Callable[[], str]
    """Random, as every id that is handed out."""
    seed: Callable[[], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What every run needs."""

    store: Store
    servers: Servers
    sandboxes: Sandboxes
    permissions: JudgesTools
    entropy: Entropy
    limits: Limits
    owner: str
    """Names this process in the runs that it runs."""
    mocks: Mocks = field(default_factory=dict)
    """What dry runs answer for tools, unless the request says otherwise."""
    unclosed: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict)
    """How to close each run whose end the database could not take; done before the next run."""

    @property
    def bookkeeping(self) -> Bookkeeping:
        """Writes down how runs stand that nobody runs."""
        return Bookkeeping(
            store=self.store,
            owner=self.owner,
            now_ms=self.entropy.now_ms,
            limits=self.limits,
        )
