"""Online Bayesian probit regression (LE-4, context): moments against integration on a grid."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import log_ndtr

from pml.errors import SavedStateError
from pml.learning.probit import ProbitConfig, ProbitModel, normal_cdf
from pml.learning.probit_state import export_state, import_state

NAMES = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True)
CALLS = st.lists(st.tuples(NAMES, st.booleans()), max_size=25)
CONFIGS = st.builds(
    ProbitConfig,
    prior_variance=st.floats(0.01, 4),
    half_life=st.floats(1, 1e5) | st.just(math.inf),
)
ENDLESS = ProbitConfig(half_life=math.inf)


def taught(calls: list[tuple[list[str], bool]], config: ProbitConfig | None = None) -> ProbitModel:
    model = ProbitModel(config)
    for names, success in calls:
        model.learn(names, success=success)
    return model


@given(
    means=st.tuples(st.floats(-2, 2), st.floats(-2, 2)),
    variances=st.tuples(st.floats(0.05, 1), st.floats(0.05, 1)),
    success=st.booleans(),
)
def test_one_outcome_gives_the_moments_of_the_exact_posterior(
    means: tuple[float, float], variances: tuple[float, float], success: bool
) -> None:
    """The product of two normal priors and Phi, integrated over a grid of both weights."""
    model = ProbitModel(ProbitConfig(prior_variance=1, half_life=math.inf))
    model.weights |= dict(zip("ab", zip(means, variances, strict=True), strict=True))
    axes = [m + math.sqrt(v) * np.linspace(-8, 8, 401) for m, v in zip(means, variances)]  # noqa: B905
    densities = [stats.norm(m, math.sqrt(v)).pdf(x) for m, v, x in zip(means, variances, axes)]  # noqa: B905
    score = axes[0][:, None] + axes[1][None, :]
    joint = densities[0][:, None] * densities[1][None, :]
    joint = joint * stats.norm.cdf(score if success else -score)
    model.learn(["a", "b"], success=success)
    for axis, (name, x) in enumerate(zip("ab", axes, strict=True)):
        marginal = joint.sum(axis=1 - axis)
        marginal /= marginal.sum()
        mean = float(marginal @ x)
        expected = mean, float(marginal @ (x - mean) ** 2)
        assert model.weights[name] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(mean=st.floats(-3, 3), variance=st.floats(0.01, 4))
def test_the_chance_is_the_average_over_the_posterior(mean: float, variance: float) -> None:
    model = ProbitModel(ProbitConfig(prior_variance=4))
    model.weights["a"] = (mean, variance)
    x = mean + math.sqrt(variance) * np.linspace(-9, 9, 2_001)
    density = stats.norm(mean, math.sqrt(variance)).pdf(x)
    average = float(np.average(stats.norm.cdf(x), weights=density))
    assert model.chance(["a"]) == pytest.approx(average, rel=1e-6)


@given(calls=CALLS, names=NAMES, config=CONFIGS)
def test_a_success_raises_the_chance_and_a_failure_lowers_it(
    calls: list[tuple[list[str], bool]], names: list[str], config: ProbitConfig
) -> None:
    """Without forgetting, which may pull the other way."""
    endless = ProbitConfig(prior_variance=config.prior_variance, half_life=math.inf)
    before = taught(calls, endless).chance(names)
    assert taught([*calls, (names, True)], endless).chance(names) > before
    assert taught([*calls, (names, False)], endless).chance(names) < before


@given(calls=CALLS, config=CONFIGS)
def test_opposite_outcomes_give_opposite_weights(
    calls: list[tuple[list[str], bool]], config: ProbitConfig
) -> None:
    one = taught(calls, config).weights
    other = taught([(names, not success) for names, success in calls], config).weights
    assert {name: (-mean, variance) for name, (mean, variance) in other.items()} == one


@given(calls=CALLS, config=CONFIGS)
def test_the_order_of_features_does_not_matter(
    calls: list[tuple[list[str], bool]], config: ProbitConfig
) -> None:
    turned = [(names[::-1], success) for names, success in calls]
    one, other = taught(calls, config).weights, taught(turned, config).weights
    assert {name: pytest.approx(weight) for name, weight in one.items()} == other


@given(calls=CALLS, config=CONFIGS)
def test_no_weight_is_less_certain_than_the_prior(
    calls: list[tuple[list[str], bool]], config: ProbitConfig
) -> None:
    weights = taught(calls, config).weights.values()
    assert all(0 < variance <= config.prior_variance for _, variance in weights)


@given(x=st.floats(-200, 8), success=st.booleans())
def test_a_surprise_however_large_keeps_the_weights_finite(x: float, success: bool) -> None:
    model = ProbitModel(ENDLESS)
    model.weights["a"] = (x, 0.25)
    model.learn(["a"], success=success)
    mean, variance = model.weights["a"]
    assert math.isfinite(mean)
    assert 0 < variance <= 0.25


def test_forgetting_leaves_what_is_not_told_any_more_near_the_prior() -> None:
    """Thousands of outcomes at even odds, after a run of successes that is a thousand old."""
    model = taught([(["a"], True)] * 50, ProbitConfig(half_life=20))
    assert model.chance(["a"]) > 0.7
    for number in range(1_000):
        model.learn(["a"], success=number % 2 == 0)
    assert model.chance(["a"]) == pytest.approx(0.5, abs=0.1)


@given(success=st.booleans(), half_life=st.floats(1, 1e4))
def test_forgetting_mixes_the_posterior_with_the_prior(success: bool, half_life: float) -> None:
    """As a product of densities, the posterior to the power of what is kept: precisions add up."""
    told, forgetting = ProbitModel(ENDLESS), ProbitModel(ProbitConfig(half_life=half_life))
    for model in (told, forgetting):
        model.weights["a"] = (0.4, 0.1)
        model.learn(["a"], success=success)
    mean, variance = told.weights["a"]
    kept, prior = 0.5 ** (1 / half_life), forgetting.config.prior_variance
    precision = kept / variance + (1 - kept) / prior
    expected = (mean * kept / variance / precision, 1 / precision)
    assert forgetting.weights["a"] == pytest.approx(expected)


@pytest.mark.parametrize("margin", [-8.0, -29.9, -30.1, -35.0, -300.0])
def test_a_great_surprise_pulls_as_the_normal_tail_says(margin: float) -> None:
    model, deviation = ProbitModel(ENDLESS), math.sqrt(1.25)
    model.weights["a"] = (margin * deviation, 0.25)
    model.learn(["a"], success=True)
    pull = (model.weights["a"][0] - margin * deviation) * deviation / 0.25
    tail = math.exp(-margin * margin / 2 - log_ndtr(margin)) / math.sqrt(2 * math.pi)
    assert pull == pytest.approx(tail, rel=1e-7)


def test_chances_are_found_again() -> None:
    """Of 3,000 simulated calls; the largest error of eight chances has a deviation of about 0.02.

    Of the chances, not of the weights: a posterior without covariances is too sure of each.
    """
    rng = np.random.default_rng(8)
    truth = {"all": 0.5, "bad": -1.2, "good": 0.8, "noise": 0.0}
    subsets = [
        ["all", *(n for n, picked in zip(("bad", "good", "noise"), pick, strict=True) if picked)]
        for pick in np.ndindex(2, 2, 2)
    ]
    model = ProbitModel(ProbitConfig(prior_variance=1, half_life=math.inf))
    for _ in range(3_000):
        names = subsets[rng.integers(len(subsets))]
        chance = normal_cdf(sum(truth[name] for name in names))
        model.learn(names, success=bool(rng.random() < chance))
    found = [model.chance(names) for names in subsets]
    expected = [normal_cdf(sum(truth[name] for name in names)) for names in subsets]
    assert found == pytest.approx(expected, abs=0.08)


def test_draws_spread_as_the_posterior_of_the_score() -> None:
    """Kolmogorov and Smirnov at 0.001: one seed in a thousand fails."""
    model = taught([(["a", "b"], True), (["a"], False), (["b"], True)])
    rng = np.random.default_rng(9)
    draws = [model.sample(["a", "b"], rng) for _ in range(2_000)]
    means, variances = zip(*(model.weights[name] for name in "ab"), strict=True)
    scores = stats.norm(sum(means), math.sqrt(sum(variances)))
    assert stats.kstest(stats.norm.ppf(draws), scores.cdf).pvalue > 0.001


@given(calls=CALLS, then=CALLS, config=CONFIGS)
def test_after_a_round_trip_it_behaves_and_learns_exactly_as_before(
    calls: list[tuple[list[str], bool]],
    then: list[tuple[list[str], bool]],
    config: ProbitConfig,
) -> None:
    model = taught(calls, config)
    back = import_state(export_state(model))
    assert back.config == config
    for names, success in then:
        model.learn(names, success=success)
        back.learn(names, success=success)
    assert back.weights == model.weights


SAVED = export_state(taught([(["a", "b"], True)]))


def test_the_largest_means_that_may_be_loaded_still_learn() -> None:
    model = ProbitModel()
    model.weights.update(a=(1e100, 0.1), b=(1e100, 0.1))
    back = import_state(export_state(model))
    for success in (True, False):
        back.learn(["a", "b"], success=success)
    assert all(math.isfinite(mean) and 0 < v <= 0.25 for mean, v in back.weights.values())


@given(at=st.integers(0, len(SAVED) - 1), byte=st.integers(0, 255))
def test_a_file_with_a_damaged_byte_is_refused(at: int, byte: int) -> None:
    damaged = SAVED[:at] + bytes([byte]) + SAVED[at + 1 :]
    if damaged != SAVED:
        with pytest.raises(SavedStateError):
            import_state(damaged)


@pytest.mark.parametrize("weight", [(math.inf, 0.1), (-1.7e308, 0.1), (0.0, 0.0), (0.0, 0.3)])
def test_weights_that_cannot_be_are_refused(weight: tuple[float, float]) -> None:
    model = ProbitModel()
    model.weights["a"] = weight
    with pytest.raises(SavedStateError):
        import_state(export_state(model))


@pytest.mark.parametrize("config", [{"prior_variance": 0.0}, {"half_life": 0.0}])
def test_a_configuration_out_of_range_is_refused(config: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        ProbitConfig(**config)
