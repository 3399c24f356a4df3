"""Who wants a run, and how; what was decided of one that goes on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pml.domain.ledger import Ledger
from pml.domain.record import JsonText
from pml.domain.run import Run
from pml.loop.doubts import Answers, resolve
from pml.loop.means import Emit
from pml.runtime.consent import NOTHING, Consents


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who wants a run, and how."""

    intent: str
    timeout_ms: int
    watchers: tuple[Emit, ...] = ()
    per_layer: bool = False
    dry_run: bool = False
    mocks: Mapping[str, JsonText] = field(default_factory=dict)
    run_id: str | None = None
    """None: a random one."""
    replaces_run_id: str | None = None
    parent: Run | None = None
    lineage: tuple[str, ...] = ()
    """Ids of the capabilities whose runs led to this one."""
    inherited: Consents = NOTHING
    """What the caller's approved plan says of the run."""
    answers: Answers = field(default_factory=dict)
    """What was decided of writes in doubt."""
    proceed: bool = False
    """Whether the layer that is held may go."""

    def settles(self, ledger: Ledger) -> bool:
        """Whether all that the run waits for is decided."""
        undecided = (c for c in ledger.in_doubt if c.issued.task_id not in self.answers)
        return not any(undecided) and (ledger.pending is None or self.proceed)

    def amend(self, ledger: Ledger) -> None:
        """Write down what was decided."""
        if self.proceed and ledger.pending is not None:
            ledger.continue_(ledger.pending.checkpoint_id, ledger.last_ms)
        resolve(ledger, self.answers)
