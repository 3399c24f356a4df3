"""What is told of a run while it goes on: events and warnings, shortened and sanitised (EX-9)."""

from collections.abc import Callable

import msgspec

from pml.domain import events
from pml.domain.limits import Limits
from pml.domain.run import Failed, Issued, Returned
from pml.domain.sanitising import preview
from pml.runtime.calls import Answered


class Teller:
    """Speaks for one run.  Of what was told before it was resumed nothing is told again."""

    def __init__(
        self,
        run_id: str,
        emit: Callable[[events.Event], None],
        *,
        now_ms: Callable[[], int],
        limits: Limits,
    ) -> None:
        self._run_id = run_id
        self._emit = emit
        self._now_ms = now_ms
        self._limits = limits
        self._warned = 0
        self.warnings: list[str] = []
        """At most ``warnings_per_run``, and then one that says that there were more."""

    def task_start(self, issued: Issued) -> None:
        """A call goes to its server."""
        self._emit(
            events.TaskStart(
                run_id=self._run_id,
                at_ms=self._now_ms(),
                task_id=issued.task_id,
                tool=issued.tool,
            )
        )

    def task_end(self, issued: Issued, answer: Answered) -> None:
        """A call came back."""
        outcome, chars = answer.outcome, self._limits.preview_chars
        self._emit(
            events.TaskEnd(
                run_id=self._run_id,
                at_ms=self._now_ms(),
                task_id=issued.task_id,
                tool=issued.tool,
                success=isinstance(outcome, Returned),
                duration_ms=round(answer.duration_ms, 3),
                result=preview(msgspec.json.decode(outcome.value), chars)
                if isinstance(outcome, Returned)
                else None,
                error=preview(outcome.message, chars) if isinstance(outcome, Failed) else None,
            )
        )

    def decided(self, site: str, outcome: str) -> None:
        """The code took a branch."""
        self._emit(
            events.DecisionTaken(
                run_id=self._run_id, at_ms=self._now_ms(), node_id=site, outcome=outcome
            )
        )

    def warn(self, text: str) -> None:
        """Something that the agent should know of, and that did not stop the run."""
        self._warned += 1
        if self._warned <= self._limits.warnings_per_run:
            self.warnings.append(preview(text, self._limits.message_chars))
        elif self._warned == self._limits.warnings_per_run + 1:
            self.warnings.append(f"further warnings were left out (after {len(self.warnings)})")
