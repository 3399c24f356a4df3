"""Thompson sampling as a method of `pml evaluate` (LE-4, LE-8)."""

import numpy as np

from pml.evaluation.dataset import Call, Tool
from pml.evaluation.methods.thompson import Thompson, ThompsonWithContext, shuffled, with_history
from pml.evaluation.questions import OutcomesQuestion
from pml.learning.thompson import ThompsonSampler
from pml.learning.verdicts import Verdict

TOOLS = (
    Tool(id="a", server="one: two", name="a"),
    Tool(id="b", server="one: two", name="b"),
    Tool(id="c", server="other", name="c"),
)


def call(episode: int, step: int, tool: str, *, ok: bool | None) -> Call:
    return Call(episode_id=f"e{episode}", step=step, tool_id=tool, arguments={}, ok=ok)


def question(calls: tuple[Call, ...], before: tuple[tuple[Call, ...], ...]) -> OutcomesQuestion:
    train = tuple(call(n, 0, "a", ok=False) for n in range(8))
    train += tuple(call(8 + n, 0, "c", ok=True) for n in range(8))
    train += (call(20, 0, "b", ok=None),)
    return OutcomesQuestion(tools=TOOLS, train=train, calls=calls, before=before)


def test_without_context_it_is_the_posterior_mean_of_each_tool() -> None:
    asked = tuple(call(30, n, tool, ok=None) for n, tool in enumerate("abc"))
    answers = Thompson().answers(question(asked, ((), (), ())))
    sampler = ThompsonSampler()
    for one in shuffled(question((), ()).train):
        if one.ok is not None:
            server = "other" if one.tool_id == "c" else "one  two"
            outcome = Verdict.SUCCESS if one.ok else Verdict.FAILURE
            sampler.record(f"{server}:{one.tool_id}", outcome)
    means = [sampler.posterior(tool).mean for tool in ("one  two:a", "one  two:b", "other:c")]
    np.testing.assert_allclose(answers, 1 - np.array(means))


def test_a_tool_never_called_is_judged_by_its_server() -> None:
    asked = (call(30, 0, "b", ok=None), call(31, 0, "c", ok=None))
    for method in (Thompson(), ThompsonWithContext()):
        never_called, reliable = method.answers(question(asked, ((), ())))
        assert never_called > reliable


def test_a_failure_in_the_same_episode_is_heard() -> None:
    """Trained on episodes in which what failed once fails again."""
    train = tuple(call(n, step, "c", ok=n % 2 == 0) for n in range(40) for step in range(2))
    asked = (call(90, 1, "c", ok=None), call(91, 1, "c", ok=None))
    before = ((call(90, 0, "c", ok=False),), (call(91, 0, "c", ok=True),))
    heard = OutcomesQuestion(tools=TOOLS, train=train, calls=asked, before=before)
    after_failure, after_success = ThompsonWithContext().answers(heard)
    assert after_failure > 0.7
    assert after_success < 0.3
    deaf = Thompson().answers(heard)
    assert deaf[0] == deaf[1]


def test_a_call_of_an_unknown_tool_has_an_answer() -> None:
    asked = (call(30, 0, "made_up", ok=None),)
    for method in (Thompson(), ThompsonWithContext()):
        (chance,) = method.answers(question(asked, ((),)))
        assert 0 < chance < 1


def test_episodes_are_shuffled_whole_and_always_alike() -> None:
    calls = [call(n, step, "a", ok=True) for n in range(30) for step in range(3)]
    order = shuffled(calls)
    assert order == shuffled(calls) != calls
    assert sorted(order, key=lambda one: (int(one.episode_id[1:]), one.step)) == calls
    assert all(
        [past.step for past in before] == list(range(one.step))
        for one, before in with_history(order)
    )
