"""The README says what is so: commands that exist, real output, links that lead on (OP-1)."""

import re
from pathlib import Path

import pytest

from docs.readme_output import (
    BLOCK,
    EVALUATION,
    TRAINING,
    demo,
    evaluation,
    excerpt,
    labels,
    stable,
    training,
)

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("pml/**/*.md")])
COLUMNS = 80
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def test_every_make_command_of_the_readme_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    named = set(re.findall(r"\bmake ([a-z]+)", README))

    assert {"demo", "test"} <= named <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_output_that_the_readme_shows_is_what_the_demo_prints(tmp_path: Path) -> None:
    shown = BLOCK.search(README)
    assert shown is not None

    fresh = excerpt(demo(tmp_path / "data", tmp_path))

    assert stable(shown[0]) == stable(fresh), "run .venv/bin/python docs/readme_output.py"
    assert "# What happened here" in (tmp_path / "pml-demo" / "report.md").read_text()
    assert max(map(len, stable(fresh))) <= COLUMNS


def test_the_evaluation_that_the_readme_shows_is_what_comes_out() -> None:
    shown = EVALUATION.search(README)
    assert shown is not None

    assert shown[0] == evaluation(), "run .venv/bin/python docs/readme_output.py"


def test_the_training_that_the_readme_shows_learns_from_that(tmp_path: Path) -> None:
    """Trained for an epoch only: what it learns from does not depend on it."""
    shown = TRAINING.search(README)
    assert shown is not None
    (tmp_path / "params.yaml").write_text("encoder: {latent: 32}\ntrain: {epochs: 1}\n")

    fresh = training(tmp_path, "--params", str(tmp_path / "params.yaml"))

    assert labels(shown[0]) == labels(fresh), "run .venv/bin/python docs/readme_output.py"
