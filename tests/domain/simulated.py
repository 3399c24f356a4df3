"""A program, its broker, its store and its upstream, simulated: for tests of replay (EX-3; rule 3).

The program is a deterministic function of what it was given; the simulated broker follows
the rules that the real one follows.
"""

import random
from collections import Counter

from pml.domain.ledger import Ledger
from pml.domain.permissions import Effect
from pml.domain.replay import Given, Replay
from pml.domain.run import (
    Issued,
    LogRecord,
    Returned,
    TimerFired,
)

EFFECTS = {"n1": Effect.READ, "n2": Effect.WRITE, "n3": Effect.IDEMPOTENT}


Act = tuple[str, ...]
"""``("issue", site, arguments)``, ``("decide", site, outcome)``, ``("reach", site)``,
``("timer",)`` or ``("settle", value)``."""


class Program:
    """Code in a sandbox: what it does depends only on its seed and what it was given."""

    def __init__(self, seed: int) -> None:
        self.history = f"{seed}"
        self.waits = 0
        self.turns = 0
        self.settled = False

    def give(self, given: str) -> list[Act]:
        """One turn."""
        self.turns += 1
        self.history += f" {given}"
        dice = random.Random(self.history)
        acts = [self._act(dice) for _ in range(dice.randint(0, 3) if self.turns < 6 else 0)]
        self.waits += sum(act[0] in {"issue", "timer"} for act in acts) - (given != "start")
        if not self.settled and (self.waits == 0 or dice.random() < 0.1):
            self.settled = True
            acts.append(("settle", str(dice.randint(0, 9))))
        return acts

    @staticmethod
    def _act(dice: random.Random) -> Act:
        kind = dice.choice(["issue", "issue", "decide", "reach", "timer"])
        match kind:
            case "issue":
                return ("issue", dice.choice(list(EFFECTS)), str(dice.randint(0, 99)))
            case "decide":
                return ("decide", "d1", dice.choice(["true", "false"]))
            case "reach":
                return ("reach", "l1")
            case _:
                return ("timer",)


def name(given: Given) -> str:
    """An input as the simulated program sees it."""
    if isinstance(given, TimerFired):
        return f"timer {given.timer}"
    assert isinstance(given.outcome, Returned)
    return f"call {given.call} {given.outcome.value}"


class World:
    """Broker, store, upstream and clock of one run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.stored: list[LogRecord] = []
        self.upstream: Counter[str] = Counter()
        self.now = 0
        self.boot()

    def boot(self) -> None:
        """(Re)start: replay what is stored, then go on live."""
        self.ledger = Ledger(self.stored)
        self.replay = Replay(self.stored)
        self.timers: list[int] = []
        self.timers_set = 0
        self.program = Program(self.seed)
        self.frozen = bool(self.ledger.in_doubt)
        if self.frozen:
            return
        unanswered = self.ledger.open_calls
        self.turn("start")
        while (given := self.replay.next_input()) is not None:
            if isinstance(given, TimerFired) and given.timer in self.timers:
                self.timers.remove(given.timer)
            self.turn(name(given))
        for call in unanswered:  # what is issued live is sent at once
            self.send(call.issued)

    def turn(self, given: str) -> None:
        """What the code does with an input, compared with the log or written into it."""
        for act in self.program.give(given):
            if self.ledger.settled and self.replay.compared:
                return  # what it does after its settlement is no part of the run
            match act:
                case ("timer",):
                    self.timers.append(self.timers_set)
                    self.timers_set += 1
                case _ if self.replay.compared:
                    self.replay.beyond(str(act))
                    self.live(act)
                case ("issue", site, arguments):
                    self.replay.issue(site=site, tool=f"s:{site}", arguments=arguments)
                case ("decide", site, outcome):
                    self.replay.decide(site, outcome)
                case ("reach", site):
                    self.replay.reach(site)
                case ("settle", value):
                    self.replay.settle(Returned(value=value))
        self.replay.message_over(self.program.turns)

    def live(self, act: Act) -> None:
        """Something new: into the log, and calls to the server."""
        self.now += 1
        match act:
            case ("issue", site, arguments):
                issued = self.ledger.issue(
                    site=site,
                    tool=f"s:{site}",
                    arguments=arguments,
                    effect=EFFECTS[site],
                    at_ms=self.now,
                )
                self.send(issued)
            case ("decide", site, outcome):
                self.ledger.decide(site, outcome, self.now)
            case ("reach", site):
                self.ledger.reach(site, self.now)
            case ("settle", value):
                self.ledger.settle(Returned(value=value), self.now)
                self.commit()

    def send(self, issued: Issued) -> None:
        """One request to the upstream, its intent committed first if it is a write."""
        self.ledger.attempt(issued.call, self.now)
        if issued.effect is Effect.WRITE:
            self.commit()
        self.upstream[issued.task_id] += 1

    def commit(self) -> None:
        self.stored.extend(self.ledger.records[len(self.stored) :])

    def answer(self, call: int) -> Returned:
        """The upstream's answer: a function of the call."""
        return Returned(value=str(sum(map(ord, self.ledger.calls[call].issued.task_id))))
