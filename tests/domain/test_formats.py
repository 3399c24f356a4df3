"""The formats (EX-9, HIL-1, MCP-2): schemas, golden examples and records say the same.

Every accepted example satisfies its schema, decodes into records, and is what the records
encode to; every rejected one is refused by the schema and by the records alike, and so is
every example after a random change that one of them refuses.
"""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.formats import FORMATS, schema
from pml.domain.formats.generate import RECORDS, generate
from pml.domain.ledger import Ledger
from pml.domain.run import LogRecord, Run, RunState

GOLDEN = Path(__file__).with_name("golden")
VALIDATORS = {name: jsonschema_rs.Draft202012Validator(schema(name)) for name in FORMATS}


def documents(path: Path) -> list[Any]:
    """The documents of one golden file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    loaded = yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(text)
    return loaded if isinstance(loaded, list) else [loaded]


EXAMPLES = [
    (path.name.split(".")[0], document)
    for path in sorted(GOLDEN.iterdir())
    if path.is_file()
    for document in documents(path)
]
REJECTED = [
    pytest.param(name, case["document"], id=f"{name}-{case['why']}")
    for name in FORMATS
    for case in documents(GOLDEN / "rejected" / f"{name}.json")
]


def decodes(name: str, document: object) -> bool:
    """Whether the records take the document."""
    try:
        msgspec.json.decode(json.dumps(document), type=RECORDS[name])
    except msgspec.ValidationError:
        return False
    return True


def test_committed_schemas_are_what_the_records_say() -> None:
    assert {name: schema(name) for name in FORMATS} == generate(), (
        "run: python -m pml.domain.formats"
    )


@pytest.mark.parametrize("name", FORMATS)
def test_a_schema_is_valid_closed_and_named(name: str) -> None:
    made = schema(name)
    assert jsonschema_rs.meta.is_valid(made)
    assert made["$id"] == f"urn:pml:format:{name}:1"
    for definition in made["$defs"].values():
        assert definition["title"]
        assert definition["description"]
        if definition["type"] == "object":
            assert definition["additionalProperties"] is False


@pytest.mark.parametrize("name", FORMATS)
def test_every_kind_of_record_has_an_example(name: str) -> None:
    text = json.dumps([document for kind, document in EXAMPLES if kind == name])
    consts = [
        definition["properties"][tag]["const"]
        for definition in schema(name)["$defs"].values()
        for tag in ("type", "kind")
        if "const" in definition.get("properties", {}).get(tag, {})
    ]
    assert [const for const in consts if f'"{const}"' not in text] == []


@pytest.mark.parametrize(("name", "document"), EXAMPLES)
def test_an_example_satisfies_its_schema_and_survives_the_records(
    name: str, document: object
) -> None:
    VALIDATORS[name].validate(document)
    record = msgspec.json.decode(json.dumps(document), type=RECORDS[name])
    assert json.loads(msgspec.json.encode(record)) == document


@pytest.mark.parametrize(("name", "document"), REJECTED)
def test_what_is_no_such_format_is_refused_by_schema_and_records(
    name: str, document: object
) -> None:
    assert not VALIDATORS[name].is_valid(document)
    assert not decodes(name, document)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("run-log-record.*")), ids=lambda p: p.name)
def test_a_golden_log_follows_the_rules_of_the_ledger(path: Path) -> None:
    records = [msgspec.convert(document, type=LogRecord) for document in documents(path)]
    assert Ledger(records).records == records


def places(node: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in a document."""
    below: list[tuple[str | int, ...]] = [path]
    if isinstance(node, dict):
        below += [found for key in node for found in places(node[key], (*path, key))]
    elif isinstance(node, list):
        below += [found for i, item in enumerate(node) for found in places(item, (*path, i))]
    return below


odd_values = st.sampled_from([None, True, -1, 0, 7, 2.5, "", "n1", "x", [], {}, [None], {"a": 1}])


@given(st.sampled_from(EXAMPLES), odd_values, st.sampled_from(["set", "delete", "add"]), st.data())
def test_schema_and_records_agree_on_every_changed_example(
    example: tuple[str, Any], value: object, change: str, data: st.DataObject
) -> None:
    name, document = example[0], copy.deepcopy(example[1])
    path = data.draw(st.sampled_from(places(document)[1:] or [()]))
    if path:
        parent = document
        for step in path[:-1]:
            parent = parent[step]
        if change == "set":
            parent[path[-1]] = value
        elif change == "delete":
            del parent[path[-1]]
        elif isinstance(parent, dict):
            parent["added"] = value
        else:
            parent.append(value)
    assert VALIDATORS[name].is_valid(document) == decodes(name, document)


def test_an_unknown_format_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown format 'traces': one of .*trace"):
        schema("traces")


def test_states_in_records_are_the_states_of_a_run() -> None:
    states = schema("trace")["$defs"]["RunState"]["enum"]
    assert sorted(states) == sorted(RunState)
    assert Run.__annotations__["state"] is RunState
