"""The reference page says what the loader checks, and the how-to page does what it says (RW-6)."""

from pathlib import Path

import pytest

from pml.evaluation.registry import find
from pml.evaluation.schema import TABLES, Column, Table

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "datasets.md").read_text("utf-8")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.file)
def test_every_column_that_is_read_is_on_the_page(table: Table) -> None:
    _, _, section = PAGE.partition(f"## {table.file}\n")

    rows = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| `")]

    assert rows == [row(column) for column in table.columns]


def row(column: Column) -> str:
    """As the page has it."""
    need = "may be null" if column.nullable else ""
    said = need if column.required else "may be missing"
    return f"| `{column.name}` | {column.kind.value} | {said} | {column.meaning} |"


def test_every_task_is_on_the_page() -> None:
    for task in find().tasks:
        assert f"\n| `{task.name}` | " in PAGE
