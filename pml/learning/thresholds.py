"""How sure a match must be before PML acts on it: by reliability, risk and mode (LE-4, SP-1).

A match of confidence c with a tool of reliability r succeeds with chance c r.  Acting pays
where that chance is at least some worth w, so the best threshold on the confidence is w / r:
a reliable tool is tried on weaker matches than one that often fails.  The seed asks for a
score of 0.7 of what succeeds 0.8 of the time, which makes w = 0.56 for a moderate risk in a
suggestion; `AT_REFERENCE` has the thresholds of all modes and risks at that reliability.

Modes differ in what they take for r as well: `active_search` an upper bound (optimism in the
face of uncertainty: what was rarely used is tried), `passive_suggestion` the mean,
`speculation` a lower bound (nobody asked for it).  For what is dangerous there is no optimism.

Reference: C. Elkan, "The Foundations of Cost-Sensitive Learning", IJCAI 2001, section 1, for
the threshold; P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time Analysis of the Multiarmed
Bandit Problem", Machine Learning 47 (2002), section 4 (UCB1-tuned), for the bound.  We take the
variance of the posterior where they have min(1/4, V) / n.
"""

from enum import StrEnum
from typing import Final

from pml.learning.risk import Risk


class Mode(StrEnum):
    """Who wants to know, from curious to careful."""

    ACTIVE_SEARCH = "active_search"
    """Somebody looks for a tool: exploring costs little."""
    PASSIVE_SUGGESTION = "passive_suggestion"
    """A suggestion that was not asked for, or a run of what matches an intent."""
    SPECULATION = "speculation"
    """A run that nobody asked for."""

    __hash__ = str.__hash__  # as a key of a dict four times as fast as that of `Enum`


REFERENCE_RELIABILITY: Final = 0.8
"""The seed's threshold on the success rate; also what is believed of a tool before any call."""
AT_REFERENCE: Final = {
    Risk.SAFE: {Mode.ACTIVE_SEARCH: 0.5, Mode.PASSIVE_SUGGESTION: 0.6, Mode.SPECULATION: 0.7},
    Risk.MODERATE: {Mode.ACTIVE_SEARCH: 0.6, Mode.PASSIVE_SUGGESTION: 0.7, Mode.SPECULATION: 0.8},
    Risk.DANGEROUS: {Mode.ACTIVE_SEARCH: 0.7, Mode.PASSIVE_SUGGESTION: 0.8, Mode.SPECULATION: 0.9},
}
"""Thresholds for a tool of the reference reliability: the seed's 0.7 and 0.8 for a moderate risk
(a score of 0.7 to suggest, 0.8 to run unasked), a tenth per step of risk."""
HIGHEST: Final = {Mode.ACTIVE_SEARCH: 0.98, Mode.PASSIVE_SUGGESTION: 0.99, Mode.SPECULATION: 1.0}
"""A tool that always fails has no useful threshold (w / r > 1); different bounds keep the modes
in order there too."""
_WORTH = {
    risk: {mode: at * REFERENCE_RELIABILITY for mode, at in modes.items()}
    for risk, modes in AT_REFERENCE.items()
}
_LEAST_RELIABILITY = 1e-3
_SEARCH, _SPECULATION, _DANGEROUS = Mode.ACTIVE_SEARCH, Mode.SPECULATION, Risk.DANGEROUS


def threshold(mean: float, bonus: float, risk: Risk, mode: Mode) -> float:
    """The least confidence at which to act, in (0, 1].

    Falls in ``mean``; rises strictly from mode to mode, and never falls from risk to risk.

    Args:
        mean: posterior mean of the reliability, in (0, 1).
        bonus: half-width of its confidence bound, at least 0.
        risk: of the tool.
        mode: who asks.
    """
    reliability = mean
    if mode is _SPECULATION:
        reliability = max(mean - bonus, _LEAST_RELIABILITY)
    elif mode is _SEARCH and risk is not _DANGEROUS:
        reliability = min(mean + bonus, 1.0)
    return min(_WORTH[risk][mode] / reliability, HIGHEST[mode])
