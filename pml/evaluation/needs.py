"""Which declared dependencies are really fetched: learned from past workflows.

Tools declare more than anybody fetches ("to see whether there is light before the door opens").
A past workflow that holds the consumer tells of each of its dependencies whether its provider
was there.  Counts are smoothed by those of dependencies like it, with the same provider
and type, and these by a start at 1: without evidence, what is declared is needed.  (Beta-binomial
shrinkage with one pseudo-observation at each level; S. Chen, J. Goodman: An Empirical Study of
Smoothing Techniques for Language Modeling, 1999, on such chains.)
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pml.evaluation.dataset import Dependency, Workflow

NEEDED = 0.5
"""A dependency that is fetched more often than not is needed."""

Needs = Mapping[str, Mapping[str, float]]
"""By consumer and provider, the chance that the provider is fetched with the consumer."""


def declared(dependencies: Iterable[Dependency]) -> Needs:
    """As declared: everything is needed."""
    needs: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for one in dependencies:
        if one.provider != one.consumer:
            needs[one.consumer][one.provider] = 1.0
    return needs


def learned(dependencies: Sequence[Dependency], past: Iterable[Workflow]) -> Needs:
    """What past workflows fetched; of several dependencies on one provider the likeliest counts.

    Every distinct set of tools counts once, however often it was asked for.
    """
    seen = _seen(dependencies, past)
    alike: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for one in dependencies:
        fetched, there = seen[one.consumer, one.provider]
        if there:
            alike[one.provider, one.type].append(fetched / there)
    needs: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for one in dependencies:
        shares = alike[one.provider, one.type]
        prior = (sum(shares) + 1) / (len(shares) + 1)
        fetched, there = seen[one.consumer, one.provider]
        chance = (fetched + prior) / (there + 1)
        if one.provider != one.consumer:
            before = needs[one.consumer].get(one.provider, 0.0)
            needs[one.consumer][one.provider] = max(before, chance)
    return needs


def _seen(
    dependencies: Sequence[Dependency], past: Iterable[Workflow]
) -> defaultdict[tuple[str, str], tuple[int, int]]:
    """By consumer and provider: in how many sets of tools both stood, and the consumer."""
    providers: defaultdict[str, set[str]] = defaultdict(set)
    for one in dependencies:
        providers[one.consumer].add(one.provider)
    seen: defaultdict[tuple[str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for tools in {frozenset(workflow.nodes) for workflow in past}:
        for consumer in tools:
            for provider in providers[consumer]:
                fetched, there = seen[consumer, provider]
                seen[consumer, provider] = (fetched + (provider in tools), there + 1)
    return seen
