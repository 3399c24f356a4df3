"""Stage `import`: check the folder that ``data.path`` names, and copy it in."""

from dataclasses import dataclass
from pathlib import Path

from pml.workspace.files import write_json
from pml.workspace.importing import checked, copy_in
from pml.workspace.layout import PARAMETERS, Layout
from pml.workspace.parameters import read_parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class DataParameters:
    """Section ``data`` of params.yaml."""

    path: str


def main() -> None:
    """Run the stage."""
    layout = Layout()
    data = read_parameters(PARAMETERS).section("data", DataParameters)
    facts = copy_in(checked(Path(data.path)), layout.imported)
    write_json(layout.metrics("import"), facts)
    print(f"{facts.name}: {facts.tools} tools, {facts.workflows} workflows, {facts.calls} calls")


if __name__ == "__main__":
    main()
