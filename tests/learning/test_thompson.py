"""Thompson sampling (LE-4): the posterior against closed forms, decay against the history.

The statistical tests have fixed seeds; each states how often it would fail with another.
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from pml.learning.arms import ArmConfig
from pml.learning.risk import Risk
from pml.learning.thompson import ThompsonSampler
from pml.learning.thresholds import Mode
from pml.learning.verdicts import Verdict
from tests.learning.bandits import CONFIGS, HISTORIES, TOOLS, History, discounted, taught

FOREVER = ArmConfig(half_life=math.inf, idle_half_life=math.inf)
NONE_OF_THESE = "other:tool"


@given(history=HISTORIES, config=CONFIGS, tool=st.sampled_from(TOOLS))
def test_an_observation_counts_what_the_formula_says(
    history: History, config: ArmConfig, tool: str
) -> None:
    sampler = taught(history, config)
    arm = sampler.tool_arm(tool)
    kept = sampler.kept(arm)
    successes, failures = discounted(history, tool, config)
    assert arm.successes * kept == pytest.approx(successes, abs=1e-9)
    assert arm.failures * kept == pytest.approx(failures, abs=1e-9)


@given(successes=st.integers(0, 300), failures=st.integers(0, 300))
def test_the_posterior_of_a_lone_observation_series_is_conjugate(
    successes: int, failures: int
) -> None:
    """The prior is what the posterior of an unknown tool of the same server is."""
    history = [("s:a", Verdict.SUCCESS)] * successes + [("s:a", Verdict.FAILURE)] * failures
    sampler = taught(history, FOREVER)
    prior, posterior = sampler.posterior("s:unknown"), sampler.posterior("s:a")
    assert posterior.alpha == pytest.approx(prior.alpha + successes)
    assert posterior.beta == pytest.approx(prior.beta + failures)
    oracle = stats.beta(prior.alpha + successes, prior.beta + failures)
    assert posterior.mean == pytest.approx(oracle.mean())
    assert posterior.variance == pytest.approx(oracle.var())


def test_before_any_outcome_all_is_as_the_configuration_says() -> None:
    prior = ThompsonSampler(ArmConfig(prior_strength=5, prior_mean=0.6)).posterior("s:a")
    assert (prior.alpha, prior.beta) == pytest.approx((3.0, 2.0))


@given(history=HISTORIES, config=CONFIGS)
def test_a_tool_weighs_at_most_the_strength_of_the_prior_in_its_server(
    history: History, config: ArmConfig
) -> None:
    sampler = taught(history, config)
    for name, server in sampler.servers.items():
        members = sum(tool.startswith(f"{name}:") for tool in sampler.tools)
        assert server.successes + server.failures <= config.prior_strength * members + 1e-9


@given(calls=st.lists(st.integers(1, 60), min_size=1, max_size=4), strength=st.floats(0.5, 20))
def test_without_decay_a_server_holds_m_n_over_m_plus_n_of_each_of_its_tools(
    calls: list[int], strength: float
) -> None:
    history = [(f"s:t{i}", Verdict.SUCCESS) for i, n in enumerate(calls) for _ in range(n)]
    endless = ArmConfig(half_life=math.inf, idle_half_life=math.inf, prior_strength=strength)
    expected = sum(strength * n / (strength + n) for n in calls)
    assert taught(history, endless).servers["s"].successes == pytest.approx(expected)


@given(history=HISTORIES, config=CONFIGS)
def test_a_server_holds_what_each_of_its_tools_told_when_it_was_called_last(
    history: History, config: ArmConfig
) -> None:
    """And what is known of all is what each server told; both fade with the idle half-life."""
    sampler = taught(history, config)
    levels = [(sampler.tools.values(), server) for server in sampler.servers.values()]
    levels.append((sampler.servers.values(), sampler.root))
    for arms, parent in levels:
        told = [0.0, 0.0]
        for arm in arms:
            if arm.parent is parent:
                count = arm.successes + arm.failures
                share = sampler.kept(arm) * config.prior_strength / (config.prior_strength + count)
                told = [told[0] + arm.successes * share, told[1] + arm.failures * share]
        kept = sampler.kept(parent)
        assert [parent.successes * kept, parent.failures * kept] == pytest.approx(told, abs=1e-9)


def test_thousands_of_calls_of_one_tool_leave_what_its_neighbours_told() -> None:
    """Forgetting by calls of the server would have the busy tool wipe out all the others."""
    failing = [(f"s:{i}", Verdict.FAILURE) for i in range(10) for _ in range(20)]
    config = ArmConfig(idle_half_life=math.inf)
    before = taught(failing, config)
    after = taught([*failing, *[("s:busy", Verdict.SUCCESS)] * 5_000], config)
    strength = config.prior_strength
    told = after.servers["s"]
    assert told.failures == pytest.approx(before.servers["s"].failures)
    assert told.successes == pytest.approx(strength, rel=0.02)
    assert after.posterior("s:new").mean < 0.25


@given(history=HISTORIES, extra=st.sampled_from(TOOLS))
def test_what_says_nothing_of_the_tool_changes_nothing(history: History, extra: str) -> None:
    before, after = taught(history), taught([*history, (extra, Verdict.UNINFORMATIVE)])
    assert after.total == before.total
    assert [after.posterior(tool) for tool in TOOLS] == [before.posterior(tool) for tool in TOOLS]


@given(history=HISTORIES, config=CONFIGS, tool=st.sampled_from(TOOLS))
def test_a_success_never_lowers_the_mean_and_a_failure_never_raises_it(
    history: History, config: ArmConfig, tool: str
) -> None:
    """Where nothing else decays: an idle neighbour that fades may move the prior either way."""
    endless = ArmConfig(
        half_life=config.half_life,
        idle_half_life=math.inf,
        prior_strength=config.prior_strength,
        prior_mean=config.prior_mean,
    )
    mean = taught(history, endless).posterior(tool).mean
    assert taught([*history, (tool, Verdict.SUCCESS)], endless).posterior(tool).mean >= mean - 1e-12
    assert taught([*history, (tool, Verdict.FAILURE)], endless).posterior(tool).mean <= mean + 1e-12


@given(history=HISTORIES)
def test_tools_of_a_server_that_nobody_called_are_believed_to_be_like_the_rest(
    history: History,
) -> None:
    sampler = taught(history)
    unknown = sampler.posterior(NONE_OF_THESE)
    assert unknown.alpha + unknown.beta == pytest.approx(sampler.config.prior_strength)
    assert NONE_OF_THESE not in sampler.tools


def test_a_tool_never_seen_inherits_the_failures_of_its_server() -> None:
    history = [(f"bad:{i}", Verdict.FAILURE) for i in range(9)]
    history += [(f"good:{i}", Verdict.SUCCESS) for i in range(9)]
    sampler = taught(history)
    assert sampler.posterior("bad:new").mean < 0.5 < sampler.posterior("good:new").mean


@given(history=HISTORIES, config=CONFIGS, tool=st.sampled_from(TOOLS))
def test_the_bonus_shrinks_with_each_call_of_a_reliable_tool(
    history: History, config: ArmConfig, tool: str
) -> None:
    """UCB1-tuned's form: the root of log(total) times the variance of the posterior."""
    assume(any(outcome is not Verdict.UNINFORMATIVE for _, outcome in history))
    sampler = taught(history, config)
    posterior = sampler.posterior(tool)
    oracle = stats.beta(posterior.alpha, posterior.beta)
    expected = config.exploration * oracle.std() * math.sqrt(math.log1p(sampler.total))
    assert sampler.bonus(tool) == pytest.approx(expected)


def test_a_rarely_used_tool_has_the_larger_bonus_and_the_lower_threshold_in_a_search() -> None:
    history = [("s:often", Verdict.SUCCESS)] * 80 + [("s:often", Verdict.FAILURE)] * 20
    history += [("s:rare", Verdict.SUCCESS)] * 4 + [("s:rare", Verdict.FAILURE)]
    sampler = taught(history)
    assert sampler.bonus("s:rare") > sampler.bonus("s:often")
    often, rare = (
        sampler.get_threshold(tool, Risk.SAFE, Mode.ACTIVE_SEARCH) for tool in ("s:often", "s:rare")
    )
    assert rare < often


def test_draws_are_of_the_posterior() -> None:
    """Kolmogorov and Smirnov at 0.001: one seed in a thousand fails."""
    sampler = taught([("s:a", Verdict.SUCCESS)] * 7 + [("s:a", Verdict.FAILURE)] * 2)
    rng = np.random.default_rng(11)
    draws = [sampler.sample("s:a", rng) for _ in range(3_000)]
    posterior = sampler.posterior("s:a")
    test = stats.kstest(draws, stats.beta(posterior.alpha, posterior.beta).cdf)
    assert test.pvalue > 0.001


def test_a_tool_is_chosen_as_often_as_it_is_likely_to_be_the_best() -> None:
    """Against integration of the two densities; a binomial test at 0.001."""
    history = [("s:a", Verdict.SUCCESS)] * 6 + [("s:a", Verdict.FAILURE)] * 2
    history += [("s:b", Verdict.SUCCESS)] * 3 + [("s:b", Verdict.FAILURE)] * 2
    sampler = taught(history)
    first, second = (
        stats.beta(p.alpha, p.beta) for p in (sampler.posterior("s:a"), sampler.posterior("s:b"))
    )
    grid = (np.arange(20_000) + 0.5) / 20_000
    likely = float(np.mean(first.pdf(grid) * second.cdf(grid)))
    rng = np.random.default_rng(12)
    chosen = sum(sampler.choose(["s:a", "s:b"], rng) == "s:a" for _ in range(3_000))
    assert stats.binomtest(chosen, 3_000, likely).pvalue > 0.001


def test_the_best_tool_is_found() -> None:
    """Of twenty seeds at most two may end elsewhere; each does so less than once in a hundred."""
    rates = {"s:good": 0.9, "s:fair": 0.6, "s:poor": 0.3}
    found = 0
    for seed in range(20):
        rng, sampler = np.random.default_rng(seed), ThompsonSampler()
        for _ in range(400):
            tool = sampler.choose(list(rates), rng)
            worked = rng.random() < rates[tool]
            sampler.record(tool, Verdict.SUCCESS if worked else Verdict.FAILURE)
        found += max(rates, key=lambda tool: sampler.posterior(tool).mean) == "s:good"
    assert found >= 18


def test_equal_generators_choose_equally() -> None:
    def choices(seed: int) -> list[str]:
        rng, sampler = np.random.default_rng(seed), ThompsonSampler()
        return [sampler.choose(TOOLS, rng) for _ in range(20)]

    assert choices(3) == choices(3) != choices(4)


def test_choosing_among_no_tools_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        ThompsonSampler().choose([], np.random.default_rng(0))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("half_life", 0.0),
        ("half_life", math.nan),
        ("half_life", 5e-324),
        ("idle_half_life", -1.0),
        ("prior_strength", 0.0),
        ("prior_strength", math.inf),
        ("prior_mean", 0.0),
        ("prior_mean", 1.0),
        ("prior_mean", math.nan),
        ("exploration", -0.1),
        ("exploration", math.inf),
    ],
)
def test_a_configuration_out_of_range_is_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match="found"):
        ArmConfig(**{field: value})
