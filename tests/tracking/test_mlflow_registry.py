"""The champion is a version that beats the fallback; it moves on and back (LE-7, RW-3)."""

import sqlite3
from pathlib import Path

import pytest

from pml.errors import NotFoundError, RequestError, SavedStateError
from pml.tracking.mlflow_registry import Registry, Version
from pml.tracking.mlflow_runs import Tracking
from tests.tracking.packages import a_file
from tests.tracking.test_mlflow_runs import FACTS

NEEDED = ("pml==0.1.0",)


@pytest.fixture
def registry(tracking: Tracking) -> Registry:
    return Registry(tracking, "shgat")


def registered(
    registry: Registry, tracking: Tracking, *, switched_on: bool = True, model: bytes = b"a"
) -> Version:
    with tracking.run(FACTS) as run:
        content = a_file(switched_on=switched_on, model=model)
        return registry.register(run.id, content, NEEDED)


def champion(registry: Registry) -> int | None:
    found = registry.champion()
    return None if found is None else found.number


def test_the_bytes_that_were_registered_are_loaded_by_the_alias(
    registry: Registry, tracking: Tracking
) -> None:
    first, second = (registered(registry, tracking, model=model) for model in (b"a", b"b"))
    registry.promote(first.number)
    assert registry.load() == a_file(model=b"a")
    registry.promote(second.number)
    assert registry.load() == a_file(model=b"b")
    assert registry.load(first.number) == a_file(model=b"a")


def test_promotion_and_rollback_move_the_alias_and_leave_a_history(
    registry: Registry, tracking: Tracking
) -> None:
    for _ in range(3):
        registered(registry, tracking)
    for number in (1, 2, 3):
        registry.promote(number)

    assert champion(registry) == 3
    assert registry.roll_back().number == 2
    assert registry.roll_back().number == 1
    with pytest.raises(NotFoundError, match="there was no other before it"):
        registry.roll_back()
    assert champion(registry) == 1
    told = {each.number: (each.former, each.rolled_back) for each in registry.versions()}
    assert told == {3: (2, True), 2: (1, True), 1: (None, False)}


def test_what_was_taken_back_may_be_promoted_again(registry: Registry, tracking: Tracking) -> None:
    for _ in range(2):
        registered(registry, tracking)
    for number in (1, 2):
        registry.promote(number)
    registry.roll_back()

    again = registry.promote(2)

    assert (again.champion, again.former, again.rolled_back) == (True, 1, False)
    assert registry.promote(2) == again


def test_only_a_version_that_beats_the_fallback_is_promoted(
    registry: Registry, tracking: Tracking
) -> None:
    good = registered(registry, tracking)
    registry.promote(good.number)
    bad = registered(registry, tracking, switched_on=False)

    with pytest.raises(RequestError, match="version 2 of 'shgat' does not beat the fallback"):
        registry.promote(bad.number)

    assert champion(registry) == good.number


def test_a_registry_without_versions_says_so(registry: Registry) -> None:
    assert (registry.versions(), registry.champion()) == ((), None)
    with pytest.raises(NotFoundError, match="no version was promoted yet"):
        registry.load()
    with pytest.raises(NotFoundError, match="no version was promoted yet"):
        registry.roll_back()
    with pytest.raises(NotFoundError, match="'4'"):
        registry.promote(4)


def test_what_is_no_package_is_not_registered(registry: Registry, tracking: Tracking) -> None:
    with tracking.run(FACTS) as run, pytest.raises(SavedStateError):
        registry.register(run.id, b"anything", NEEDED)

    assert registry.versions() == ()


def test_a_package_that_was_damaged_in_the_store_is_not_loaded(
    registry: Registry, tracking: Tracking, tmp_path: Path
) -> None:
    registry.promote(registered(registry, tracking).number)
    (path,) = (tmp_path / "tracking" / "artifacts").rglob("package.pml")
    path.write_bytes(path.read_bytes()[:-30])

    with pytest.raises(SavedStateError, match="no whole archive"):
        registry.load()


def test_a_model_has_its_requirements_beside_it_and_no_pickle(
    registry: Registry, tracking: Tracking, tmp_path: Path
) -> None:
    registered(registry, tracking)

    (path,) = (tmp_path / "tracking" / "artifacts").rglob("requirements.txt")

    assert path.read_text() == "pml==0.1.0\n"
    names = {each.name for each in path.parent.iterdir()}
    assert names == {"MLmodel", "package.pml", "requirements.txt"}


def test_the_store_is_the_sqlite_file(tracking: Tracking, tmp_path: Path) -> None:
    registered(Registry(tracking, "shgat"), tracking)

    with sqlite3.connect(tmp_path / "tracking" / "mlflow.db") as database:
        rows = database.execute("SELECT name, version FROM model_versions").fetchall()
    database.close()

    assert rows == [("shgat", 1)]
