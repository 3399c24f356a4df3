"""What is committed of the notebooks: a question, answers without errors, nothing private (RW-1).

That they run is tested by nbval, in a call of its own (see `make test`).
"""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST_BYTES = 400_000
OF_A_MACHINE = re.compile(r"(?<![\w./])/(?:home|root|tmp|work|Users|private|var|mnt)/|[A-Z]:\\\\")


def test_every_notebook_has_a_number_a_name_and_a_row_in_the_readme() -> None:
    names = [path.name for path in NOTEBOOKS]
    linked = re.findall(r"\]\(([^)]+\.ipynb)\)", (FOLDER / "README.md").read_text())

    assert [name for name in names if not re.fullmatch(r"\d\d-[a-z-]+\.ipynb", name)] == []
    assert sorted(linked) == names
    assert names


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    """Of each notebook in turn."""
    found: Path = request.param
    return found


@pytest.fixture
def notebook(path: Path) -> NotebookNode:
    found: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(found)
    return found


def test_it_starts_from_a_question_and_uses_pml(notebook: NotebookNode) -> None:
    first = notebook.cells[0]
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]

    assert first.cell_type == "markdown"
    assert "?" in first.source
    assert any(re.search(r"^(from|import) pml\b", source, re.MULTILINE) for source in code)
    assert not any(re.search(r"^class ", source, re.MULTILINE) for source in code)
    assert notebook.metadata.kernelspec.name == "python3"


def test_it_was_run_from_top_to_bottom_without_errors(notebook: NotebookNode) -> None:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]

    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    kinds = [(output.output_type, output.get("name")) for cell in code for output in cell.outputs]
    assert kinds
    assert [kind for kind in kinds if kind[0] == "error" or kind[1] == "stderr"] == []


def test_it_is_small_and_names_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert len(text.encode()) <= LARGEST_BYTES
    assert OF_A_MACHINE.findall(re.sub(r'"image/png": "[^"]*"', "", text)) == []
