"""The model file: to the bit there and back, and one clear error for whatever is wrong (LE-7)."""

import dataclasses
import hashlib
import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from pml.errors import ModelFileError, SavedStateError
from pml.models.config import ShgatConfig
from pml.models.exported import ExportedShgat
from pml.models.hypergraph import hypergraph
from pml.models.model_file import Expected, from_bytes, to_bytes
from pml.models.trained_ids import TrainedIds
from tests.models.exports import exported
from tests.models.worlds import CONFIG, DEEP, World, worlds

MODEL = exported(CONFIG, DEEP.graph)
FILE = to_bytes(MODEL)


def same(one: ExportedShgat, other: ExportedShgat) -> bool:
    """To the bit."""
    plain = [field.name for field in dataclasses.fields(one)]
    for name in ("graph", "parameters"):
        plain.remove(name)
    return (
        all(getattr(one, name) == getattr(other, name) for name in plain)
        and one.graph.identity == other.graph.identity
        and one.parameters.keys() == other.parameters.keys()
        and all(
            values.tobytes() == other.parameters[name].tobytes()
            and values.shape == other.parameters[name].shape
            for name, values in one.parameters.items()
        )
    )


@given(worlds(), st.sampled_from([CONFIG, ShgatConfig(dim=3, id_embeddings=False)]))
def test_a_model_comes_back_to_the_bit(world: World, config: ShgatConfig) -> None:
    model = exported(config, world.graph)
    assert same(from_bytes(to_bytes(model)), model)


def test_equal_models_give_equal_bytes() -> None:
    again = exported(CONFIG, DEEP.graph)
    again = dataclasses.replace(again, parameters=dict(reversed(list(again.parameters.items()))))
    assert to_bytes(again) == FILE


@given(st.integers(0, len(FILE) - 1))
def test_a_file_that_was_cut_is_refused(length: int) -> None:
    with pytest.raises(ModelFileError, match="cut or changed"):
        from_bytes(FILE[:length])


@given(st.integers(0, len(FILE) * 8 - 1))
def test_a_flipped_bit_is_noticed_wherever_it_is(bit: int) -> None:
    damaged = bytearray(FILE)
    damaged[bit // 8] ^= 1 << bit % 8
    refused_or_harmless(bytes(damaged))


@given(
    st.lists(
        st.tuples(st.integers(0, len(FILE)), st.integers(0, 40), st.binary(max_size=40)),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_is_overwritten_there_is_one_error(
    edits: list[tuple[int, int, bytes]],
) -> None:
    damaged = FILE
    for place, length, text in edits:
        damaged = damaged[:place] + text + damaged[place + length :]
    refused_or_harmless(damaged)


@given(st.binary(max_size=200))
def test_what_is_no_model_file_is_refused(data: bytes) -> None:
    with pytest.raises(ModelFileError):
        from_bytes(data)
    # Also where the length of the header is right.
    with pytest.raises(ModelFileError):
        from_bytes(struct.pack("<Q", len(data)) + data)


def refused_or_harmless(data: bytes) -> None:
    """White space at the end of the header says nothing, so a change there may go unseen."""
    try:
        model = from_bytes(data)
    except ModelFileError:
        return
    assert same(model, MODEL)


def forged(**changes: Any) -> bytes:  # noqa: ANN401  # any JSON
    """A file of which these parts were changed by somebody who knows how to sign it.

    Args:
        **changes: ``arrays`` is added to those there are; None takes one out.  All else are keys
            of the content.
    """
    header = json.loads(FILE[8 : 8 + int.from_bytes(FILE[:8], "little")])
    envelope = json.loads(header["__metadata__"]["pml"])
    arrays = {**load(FILE), **changes.pop("arrays", {})}
    arrays = {name: values for name, values in arrays.items() if values is not None}
    form = {key: changes.pop(key, envelope[key]) for key in ("format", "version")}
    content = json.dumps({**envelope["content"], **changes}, separators=(",", ":"))
    digest = hashlib.sha256(content.encode())
    for name, values in sorted(arrays.items()):
        digest.update(f"\n{name} {values.dtype.str} {values.shape}\n".encode() + values.tobytes())
    text = f'{json.dumps(form)[:-1]},"sha256":"{digest.hexdigest()}","content":{content}}}'
    return save(arrays, metadata={"pml": text})


GATE = MODEL.parameters["up.gate"]
OTHER = hypergraph(("t0",), ())
WRONG: dict[str, tuple[bytes, str]] = {
    "another format": (forged(format="onnx"), "expected format pml-shgat, found 'onnx'"),
    "a newer version": (forged(version=3), "expected version 2, found 3; update PML"),
    "an older version": (forged(version=0), "found 0; train again"),
    "no metadata": (save({"a": GATE}), "a safetensors file of something else"),
    "metadata of another": (save({"a": GATE}, metadata={"x": "y"}), "of something else"),
    "no array": (forged(arrays={"up.gate": None}), "expected an array 'up.gate', found none"),
    "one array more": (forged(arrays={"spare": GATE}), "found 'spare' too"),
    "a shape": (forged(arrays={"up.gate": GATE[:1]}), r"'up.gate' of shape \(2,\).*found \(1,\)"),
    "a type": (forged(arrays={"up.gate": GATE.astype("f8")}), "of float32, found .* of float64"),
    "NaN": (forged(arrays={"up.gate": GATE * np.nan}), "NaN or infinity in array 'up.gate'"),
    "a deviation": (
        forged(arrays={"standardise.tools.deviation": -MODEL.parameters["standardise.tools.mean"]}),
        "expected deviations above 0",
    ),
    "no pairs": (forged(arrays={"graph.members": None}), "'graph.members' of one axis of int64"),
    "fewer pairs": (forged(arrays={"graph.members": DEEP.graph.members[1:]}), "expected pairs"),
    "pairs out of range": (
        forged(arrays={"graph.members": DEEP.graph.members + 99}),
        "expected numbers of 10 nodes in pairs",
    ),
    "pairs out of order": (
        forged(arrays={"graph.containers": DEEP.graph.containers[::-1].copy()}),
        "expected pairs in order",
    ),
    "levels": (
        forged(levels=[["t0", "t1", "t2", "t3", "t4"], ["c0", "c1", "c4", "c2"], ["c3"]]),
        "on the level above its highest member",
    ),
    "no levels": (forged(levels=[]), "at least the level of tools"),
    "a tool twice": (forged(levels=[["t0"] * 5, ["c0", "c1", "c4"], ["c2"], ["c3"]]), "once"),
    "a trained node twice": (forged(trainedTools=["t0", "t0"]), "must not repeat"),
    "a trained node of nowhere": (forged(trainedTools=["x", "t1", "t2", "t3", "t4"]), "tool 'x'"),
    "another graph's identity": (forged(graph=OTHER.identity), "in the same file"),
    "a configuration": (forged(config={"dim": 0}), "dim must be at least 1"),
    "fields of a configuration": (forged(config={"dim": 6, "depth": 2}), "found others"),
    "other columns": (forged(toolColumns=["pagerank"]), "expected the feature columns of this PML"),
    "unknown keys": (forged(extra=1), "extra"),
    "a fallback": (forged(fallbacks={"weather": "rain"}), "fallbacks of .*, found 'weather'"),
    "a gate": (forged(gate={"weather": True}), "the gate to judge .*, found 'weather'"),
    "a metric": (forged(metrics={"auc": None}), "auc|metrics"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named(what: str) -> None:
    data, problem = WRONG[what]
    with pytest.raises(ModelFileError, match=problem):
        from_bytes(data)


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        (
            Expected(encoder="bge-m3"),
            "expected encoder 'bge-m3', found 'test-encoder'; set PML_ENC",
        ),
        (Expected(dim=1024), "expected vectors of dimension 1024, found 6"),
        (Expected(graph=OTHER.identity), f"expected graph {OTHER.identity}"),
    ],
)
def test_a_file_that_does_not_fit_the_caller_is_refused(expected: Expected, problem: str) -> None:
    with pytest.raises(ModelFileError, match=problem):
        from_bytes(FILE, expected=expected)


def test_a_file_that_fits_the_caller_is_taken() -> None:
    expected = Expected(encoder="test-encoder", dim=6, graph=DEEP.graph.identity)
    assert same(from_bytes(FILE, expected=expected), MODEL)


def test_the_error_says_what_to_do() -> None:
    with pytest.raises(SavedStateError) as caught:
        from_bytes(FILE[:-1])
    assert isinstance(caught.value, ModelFileError)
    assert "copy or download the file again" in caught.value.remedy


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"parameters": {}}, "expected an array"),
        ({"metrics": {"auc": float("nan")}}, "expected metric 'auc' to be a finite number"),
        ({"trained": TrainedIds(tools=("x",))}, "found tool 'x' that is not"),
    ],
)
def test_no_such_model_can_be_made(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        dataclasses.replace(MODEL, **change)
