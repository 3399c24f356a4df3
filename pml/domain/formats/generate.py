"""Makes the JSON Schemas from the records, whose docstrings become the descriptions.

The records are the source: a schema that differs from what this makes fails a test.
"""

import ast
import inspect
import textwrap
from typing import Any

import msgspec

from pml.domain.dag import ExplicitDag
from pml.domain.evaluation import Evaluation
from pml.domain.events import Event
from pml.domain.formats import FORMATS
from pml.domain.permissions import PermissionsFile
from pml.domain.record import Record
from pml.domain.response import ExecuteResponse
from pml.domain.run import LogRecord
from pml.domain.structure import StaticStructure
from pml.domain.trace import ExecutionTrace

VERSION = 1
RECORDS: dict[str, Any] = {
    "static-structure": StaticStructure,
    "run-log-record": LogRecord,
    "trace": ExecutionTrace,
    "execute-response": ExecuteResponse,
    "permissions": PermissionsFile,
    "explicit-dag": ExplicitDag,
    "event": Event,
    "evaluation": Evaluation,
}
"""What a document of each format decodes into."""
_TITLES = {
    "static-structure": "Static structure: what analysis knows of a program before it runs",
    "run-log-record": "One record of a run's log",
    "trace": "Trace: what a run did",
    "execute-response": "Response of pml_execute",
    "permissions": "permissions.yaml",
    "explicit-dag": "A workflow given as tasks instead of code",
    "event": "What happens in a run, as it happens",
    "evaluation": "Report of pml evaluate",
}


def generate() -> dict[str, dict[str, Any]]:
    """Every format's schema, by name."""
    return {name: _generate_one(name) for name in FORMATS}


def _generate_one(name: str) -> dict[str, Any]:
    made = msgspec.json.schema(RECORDS[name])
    definitions = made.pop("$defs")
    described = _field_descriptions()
    for title, definition in definitions.items():
        _complete(definition, described.get(title, {}))
    head = {"$id": f"urn:pml:format:{name}:{VERSION}", "title": _TITLES[name]}
    whole: dict[str, Any] = _plain({**head, **made, "$defs": dict(sorted(definitions.items()))})
    return whole


def _complete(definition: dict[str, Any], descriptions: dict[str, str]) -> None:
    """Say what fields mean, and that no others exist."""
    if definition.get("type") != "object":
        definition.setdefault("type", "string")  # an enumeration
        return
    assert definition["additionalProperties"] is False, definition["title"]
    for field, description in descriptions.items():
        if field in definition["properties"]:
            definition["properties"][field]["description"] = description


def _plain(node: Any) -> Any:  # noqa: ANN401  # JSON
    """Drop OpenAPI's ``discriminator``, write one allowed value as ``const``."""
    if isinstance(node, list | tuple):  # defaults are tuples
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {key: _plain(value) for key, value in node.items() if key != "discriminator"}
    if "type" not in plain and isinstance(options := plain.get("enum"), list) and len(options) == 1:
        del plain["enum"]
        plain["const"] = options[0]
    return plain


def _field_descriptions() -> dict[str, dict[str, str]]:
    """By record: the docstrings under its fields and its bases' fields, under their JSON names."""
    kinds: list[type[Record]] = [Record]
    for kind in kinds:  # grows while it is walked
        kinds.extend(kind.__subclasses__())
    return {kind.__name__: _own_and_inherited(kind) for kind in kinds}


def _own_and_inherited(kind: type[Record]) -> dict[str, str]:
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    found: dict[str, str] = {}
    for base in reversed([base for base in kind.__mro__ if issubclass(base, Record)]):
        found |= {
            names[field]: text for field, text in _docstrings_of(base).items() if field in names
        }
    return found


def _docstrings_of(kind: type[Record]) -> dict[str, str]:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for field, after in zip(definition.body, definition.body[1:], strict=False):
        match field, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = inspect.cleandoc(text)
    return found
