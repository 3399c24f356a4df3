"""Adding a task or a method is adding a file; a wrong name is answered with near ones (RW-6)."""

from pathlib import Path

import pytest

from pml.errors import ConfigError, RequestError
from pml.evaluation.registry import Registry, find

TASK = """
class Guess:
    name = "guess"
    title = "Guessing"
    headline = "right"
    higher_is_better = True

    def problems(self, dataset):
        return []
"""
METHOD = """
class Coin:
    name = "coin"
    task = "guess"

    def answers(self, question):
        return None
"""
FAMILY = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Always:
    name: str
    task: str = "guess"

    def answers(self, question):
        return None

METHODS = (Always("heads"), Always("tails"))
"""


def written(folder: Path, **files: str) -> list[Path]:
    """Files of a user."""
    paths = []
    for name, text in files.items():
        paths.append(folder / f"{name}.py")
        paths[-1].write_text(text)
    return paths


def added(files: list[Path]) -> Registry:
    """What the files add."""
    return find(files).only(["guess"], None)


def test_classes_of_a_file_are_found(tmp_path: Path) -> None:
    registry = added(written(tmp_path, mine=TASK + METHOD))

    assert [task.title for task in registry.tasks] == ["Guessing"]
    assert [method.name for method in registry.of_task("guess")] == ["coin"]


def test_one_class_can_serve_several_names(tmp_path: Path) -> None:
    registry = added(written(tmp_path, task=TASK, family=FAMILY))

    assert [method.name for method in registry.methods] == ["heads", "tails"]


def test_imported_private_and_nameless_classes_are_no_methods(tmp_path: Path) -> None:
    text = TASK + METHOD + METHOD.replace("Coin", "_Base") + FAMILY.replace("METHODS", "NO_METHODS")

    assert [method.name for method in added(written(tmp_path, mine=text)).methods] == ["coin"]


def test_what_is_in_the_package_stays_there(tmp_path: Path) -> None:
    alone, more = find(), find(written(tmp_path, mine=TASK + METHOD))

    assert {task.name for task in more.tasks} == {task.name for task in alone.tasks} | {"guess"}
    assert len(more.methods) == len(alone.methods) + 1


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("x = 1\n", "holds no method", None),
        ("x = 1\nthis is no python\n", "SyntaxError", 2),
        ("x = 1\ny = x / 0\n", "ZeroDivisionError", 2),
        ("import a_module_that_nobody_has\n", "ModuleNotFoundError", 1),
        (TASK + METHOD + METHOD.replace("Coin", "Penny"), "there is a method 'guess: coin'", None),
        (TASK + METHOD.replace('"coin"', '"coin, one"'), "has a comma in its name", None),
        (
            TASK + METHOD + "\n    def __init__(self):\n        raise OSError('no coin')\n",
            "no coin",
            19,
        ),
        (TASK + "\nMETHODS = 1\n", "TypeError", None),
        (TASK + METHOD.replace('"guess"', '"gues"'), "did you mean 'guess'", None),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    tmp_path: Path, text: str, said: str, line: int | None
) -> None:
    (path,) = written(tmp_path, mine=text)

    with pytest.raises(ConfigError) as caught:
        find([path])

    assert said in str(caught.value)
    assert (caught.value.source, caught.value.line) == (str(path), line)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is none"):
        find([tmp_path / "gone.py"])


def test_a_wrong_name_is_answered_with_near_ones(tmp_path: Path) -> None:
    registry = find(written(tmp_path, mine=TASK + METHOD))

    with pytest.raises(RequestError, match="--methods: there is no 'coins'; did you mean 'coin'"):
        registry.only(None, ["coins"])
    with pytest.raises(RequestError, match="--tasks: there is no 'gess'; did you mean 'guess'"):
        registry.only(["gess"], None)


def test_a_method_of_another_task_is_left_out_and_none_at_all_is_an_error(tmp_path: Path) -> None:
    other = TASK.replace("guess", "tell").replace("Guess", "Tell")
    teller = METHOD.replace("guess", "tell").replace("coin", "owl").replace("Coin", "Owl")
    registry = find(written(tmp_path, mine=TASK + METHOD, other=other + teller))

    chosen = registry.only(None, ["owl"])

    assert [task.name for task in chosen.tasks] == ["tell"]
    with pytest.raises(RequestError, match="no method is left"):
        registry.only(["guess"], ["owl"])


def test_every_method_of_the_package_answers_a_task_that_there_is() -> None:
    registry = find()

    assert {method.task for method in registry.methods} == {task.name for task in registry.tasks}
