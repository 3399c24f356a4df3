"""Methods are asked and compared; what fails fails alone, and nothing finished is lost (RW-6)."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from pml.domain.evaluation import Evaluation, MethodResult, ProblemResult
from pml.domain.record import decode, encode
from pml.errors import DatasetError, RequestError
from pml.evaluation.run import Progress, evaluate
from pml.evaluation.work import Order
from tests.evaluation.folders import write
from tests.evaluation.guessing import DYING, ENDING, FAILING, NO_PROBLEM, PRINTING, TASK, written


def report(
    tmp_path: Path,
    *names: str,
    processes: int = 1,
    tasks: tuple[str, ...] = ("guess",),
    **files: str,
) -> Evaluation:
    """An evaluation on small sets of these names."""
    folders = tuple(write(tmp_path / name) for name in names or ("one",))
    order = Order(
        folders=folders,
        tasks=tasks,
        methods=None,
        method_files=written(tmp_path, **{"task": TASK, **files}),
    )
    return evaluate(order, processes=processes, on_progress=lambda _: None)


def methods(problem: ProblemResult) -> list[str]:
    """Their names, best first."""
    return [each.method for each in problem.methods]


def test_every_method_of_a_task_is_asked_and_ranked(tmp_path: Path) -> None:
    even, odd = report(tmp_path).problems

    assert (even.dataset, even.label, even.cases, even.groups) == ("one", "even", 100, 50)
    assert methods(even) == ["right", "half"]
    assert methods(odd) == ["nothing to say of even numbers", "right", "half"]
    best, worse = even.methods
    assert (best.best, best.as_good, worse.best, worse.as_good) == (True, True, False, False)
    assert [(each.name, each.value) for each in worse.metrics] == [("right", 0.5), ("sum", 50.0)]
    assert worse.against is not None
    assert (worse.against.other, worse.against.difference) == ("right", -0.5)
    assert worse.against.p_holm < 0.001


def test_a_method_that_is_told_part_of_the_answer_is_a_bound_and_no_rival(tmp_path: Path) -> None:
    told = TASK.replace('name = "right"', 'name = "right (oracle)"')

    even = report(tmp_path, task=told).problems[0]

    assert [(each.method, each.bound) for each in even.methods] == [
        ("right (oracle)", True),
        ("half", False),
    ]
    assert [each.best for each in even.methods] == [False, True]
    assert [each.against for each in even.methods] == [None, None]


def test_methods_compute_in_one_thread_whatever_the_machine_has(tmp_path: Path) -> None:
    """Sums in another order are other sums: LSA's figures moved by three thousandths."""
    counting = """
import numpy as np
from threadpoolctl import threadpool_info

class Counts:
    name = "counts"
    task = "guess"

    def answers(self, question):
        np.ones((2, 2)) @ np.ones((2, 2))
        raise RuntimeError(str({pool["num_threads"] for pool in threadpool_info()}))
"""

    even = report(tmp_path, counting=counting).problems[0]

    assert "RuntimeError: {1} " in str(even.methods[-1].error)


def test_methods_that_answer_alike_are_both_best(tmp_path: Path) -> None:
    odd = report(tmp_path).problems[1]

    assert [each.best for each in odd.methods] == [True, True, False]
    assert odd.methods[0].against is not None
    assert odd.methods[0].against.p == 1.0


def test_a_figure_is_the_same_however_it_was_computed(tmp_path: Path) -> None:
    """Only the seconds differ."""

    def figures(found: Evaluation) -> object:
        problems = json.loads(encode(found.problems))
        for problem in problems:
            for method in problem["methods"]:
                del method["seconds"]
        return problems

    one = report(tmp_path / "x", "one", "two")
    again = report(tmp_path / "y", "one", "two", processes=2)
    alone = report(tmp_path / "z", "two")

    assert figures(one) == figures(again)
    assert figures(one)[2:] == figures(alone)  # type: ignore[index]
    assert [facts.files for facts in one.datasets] == [facts.files for facts in again.datasets]


def test_a_method_that_fails_has_a_row_that_says_why(tmp_path: Path) -> None:
    found = report(tmp_path, failing=FAILING)

    errors = {each.method: each.error for each in found.problems[0].methods}
    assert errors["raises"] == "RuntimeError: no <idea> (failing.py:7)"
    assert errors["short"] == "ValueError: expected 100 answers (task.py:24)"
    assert errors["leaves"] == "SystemExit: 4 (failing.py:23)"
    assert errors["right"] is None
    assert found.failed
    assert not report(tmp_path / "whole").failed


def test_a_task_that_fails_leaves_the_others(tmp_path: Path) -> None:
    found = report(tmp_path, tasks=("broken", "guess"), broken=NO_PROBLEM)

    assert [each.error is None for each in found.problems] == [False, True, True]
    assert "KeyError: 'nodes' (broken.py:9)" in str(found.problems[0].error)


def test_a_process_that_is_killed_costs_the_method_that_it_asked_only(tmp_path: Path) -> None:
    """In the question at which it was killed and in those that follow; all others are compared."""
    found = report(tmp_path, "one", "two", processes=2, dying=DYING)

    even, odd = found.problems[:2]
    how = "its process ended before it had answered (killed by signal 9): out of memory?"
    assert [each.error for each in found.problems] == [None] * 4
    assert methods(even) == ["right", "half", "dies"]
    assert even.methods[2].error == how
    assert odd.methods[-1].error == f"not asked, as at 'even' {how}"
    assert even.methods[:2] == _but_seconds(even, report(tmp_path / "x").problems[0].methods)
    assert found.failed


def _but_seconds(
    found: ProblemResult, methods: tuple[MethodResult, ...]
) -> tuple[MethodResult, ...]:
    """The methods with the seconds of others of the same names."""
    seconds = {each.method: each.seconds for each in found.methods}
    return tuple(replace(each, seconds=seconds[each.method]) for each in methods)


def test_what_a_process_had_finished_is_not_done_again(tmp_path: Path) -> None:
    counting = TASK.replace(
        "return question\n", "open(__file__ + 'log', 'a').write('x')\n        return question\n", 1
    )
    ending = ENDING.replace(
        "os._exit(3)", "question[0] % 2 and os._exit(3)\n        return question"
    )

    found = report(tmp_path, "one", "two", processes=2, task=counting, ending=ending)

    assert [len(each.methods) for each in found.problems] == [3, 4, 3, 4]
    assert [each.methods[-1].method for each in found.problems[1::2]] == ["ends"] * 2
    assert (tmp_path / "task.pylog").read_text() == "x" * 4  # each question once, of each set


def test_a_process_that_ends_itself_is_named_with_its_exit_code(tmp_path: Path) -> None:
    found = report(tmp_path, "one", "two", processes=2, ending=ENDING)

    assert [each.methods[-1].error for each in found.problems[::2]] == [
        "its process ended before it had answered (exit code 3)"
    ] * 2


def test_a_process_that_ends_at_no_method_costs_its_piece(tmp_path: Path) -> None:
    ending = NO_PROBLEM.replace('raise KeyError("nodes")', "import os; os._exit(3)")

    found = report(tmp_path, tasks=("broken", "guess"), processes=2, broken=ending)

    assert [each.error for each in found.problems] == [
        "its process ended while it loaded the set (exit code 3)",
        None,
        None,
    ]


def test_what_a_method_prints_in_a_process_does_not_mix_with_the_report(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = report(tmp_path, "one", "two", processes=2, printing=PRINTING)

    out, err = capfd.readouterr()
    assert not found.failed
    assert (out, err.count("a method's own words")) == ("", 4)


def test_a_process_without_work_ends_by_itself(tmp_path: Path) -> None:
    """What its libraries hold is given back; what is killed leaves semaphores behind."""
    ends = (
        PRINTING
        + f"""
import atexit, multiprocessing, os, pathlib

if multiprocessing.parent_process() is not None:
    atexit.register(lambda: pathlib.Path({str(tmp_path)!r}, f"ended {{os.getpid()}}").touch())
"""
    )
    report(tmp_path, "one", "two", processes=2, ends=ends)

    assert len(list(tmp_path.glob("ended *"))) == 2


def test_a_set_without_what_a_task_needs_is_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path / "bare", workflows=None)
    order = Order(
        folders=(folder,), tasks=("guess",), methods=None, method_files=written(tmp_path, task=TASK)
    )

    found = evaluate(order, processes=1, on_progress=lambda _: None)

    assert found.problems == ()
    assert [facts.name for facts in found.datasets] == ["bare"]


def test_progress_counts_tasks_on_sets_and_names_each_method(tmp_path: Path) -> None:
    told: list[Progress] = []
    order = Order(
        folders=(write(tmp_path / "one"), write(tmp_path / "two")),
        tasks=("guess",),
        methods=("half",),
        method_files=written(tmp_path, task=TASK),
    )

    evaluate(order, processes=1, on_progress=told.append)

    assert [(each.done, each.of, each.what) for each in told[:5]] == [
        (0, 2, "one guess even: half"),
        (0, 2, "one guess even: comparing"),
        (0, 2, "one guess odd: half"),
        (0, 2, "one guess odd: comparing"),
        (1, 2, "one guess: done"),
    ]
    assert told[-1].done == told[-1].of


@pytest.mark.parametrize("processes", [1, 2])
def test_what_was_finished_is_kept_when_somebody_stops_it(tmp_path: Path, processes: int) -> None:
    def stop(progress: Progress) -> None:
        if progress.done == 1:
            raise KeyboardInterrupt

    order = Order(
        folders=tuple(write(tmp_path / name) for name in ("one", "two", "three", "four")),
        tasks=("guess",),
        methods=None,
        method_files=written(tmp_path, task=TASK),
    )

    found = evaluate(order, processes=processes, on_progress=stop)

    assert found.interrupted
    assert 2 <= len(found.problems) < 8


@pytest.mark.parametrize("processes", [1, 2])
def test_methods_that_were_done_are_kept_when_somebody_stops_at_another(
    tmp_path: Path, processes: int
) -> None:
    """Shown as they are, compared with none: the others might have been better."""

    def stop(progress: Progress) -> None:
        if progress.what == "one guess odd: right":
            raise KeyboardInterrupt

    order = Order(
        folders=(write(tmp_path / "one"), write(tmp_path / "two")),
        tasks=("guess",),
        methods=None,
        method_files=written(tmp_path, task=TASK),
    )

    found = evaluate(order, processes=processes, on_progress=stop)

    even, odd = found.problems[:2]
    assert (even.interrupted, odd.interrupted) == (False, True)
    assert (odd.cases, odd.groups) == (100, 50)
    done, worse, lost = odd.methods
    assert (done.method, done.metrics[0].value) == ("nothing to say of even numbers", 1.0)
    assert not any(each.best or each.as_good for each in odd.methods)
    assert (worse.method, worse.metrics, worse.against) == ("half", even.methods[1].metrics, None)
    assert (lost.method, lost.error) == ("right", "interrupted before it had answered")


def test_nothing_is_evaluated_where_a_set_is_damaged(tmp_path: Path) -> None:
    told: list[Progress] = []
    damaged = write(tmp_path / "damaged")
    (damaged / "workflows.parquet").write_bytes(b"PAR1")
    order = Order(
        folders=(write(tmp_path / "whole"), damaged),
        tasks=("guess",),
        methods=None,
        method_files=written(tmp_path, task=TASK),
    )

    with pytest.raises(DatasetError):
        evaluate(order, processes=2, on_progress=told.append)
    assert told == []


def test_two_sets_of_one_name_are_refused(tmp_path: Path) -> None:
    order = Order(
        folders=(write(tmp_path / "x" / "set"), write(tmp_path / "y" / "set")),
        tasks=("guess",),
        methods=None,
        method_files=written(tmp_path, task=TASK),
    )

    with pytest.raises(RequestError, match="two folders are named 'set'"):
        evaluate(order, processes=1, on_progress=lambda _: None)


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = report(tmp_path, failing=FAILING)

    assert decode(Evaluation, encode(found)) == found
